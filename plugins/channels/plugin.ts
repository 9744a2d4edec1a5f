/** Channels: connects agents to chat networks. Owns the extension point, runs the accounts, receives messages and sends texts. */
import { definePlugin, isGatewayError, live, Strict, Type } from "@svc/sdk";
import { AgentDirectory, AgentRuns } from "@svc/sdk/agents";
import { Channel, channels, Delivery, outbound } from "@svc/sdk/channels";
import { ChatCommands } from "@svc/sdk/commands";
import { GatewayInfo } from "@svc/sdk/gateway";
import { Sessions } from "@svc/sdk/sessions";
import { Retention, Storage } from "@svc/sdk/storage";
import { Tool } from "@svc/sdk/tools";
import type { AccountRun } from "./account.ts";
import { Answering } from "./answering.ts";
import { strangersInMain } from "./config-warnings.ts";
import { createDelivery } from "./delivery.ts";
import { type AcceptedMessage, InboundStore } from "./inbound-store.ts";
import { menuOf } from "./commands.ts";
import { createLogout } from "./logout.ts";
import { messageTool } from "./message-tool.ts";
import { OpenStorage } from "./open-storage.ts";
import { Outbox } from "./outbox.ts";
import { OutboxStore } from "./outbox-store.ts";
import { isStillAllowed, Receiving, type Source } from "./receiving.ts";
import { ChannelAccounts } from "./channel-accounts.ts";
import { CHANNEL_RETENTION } from "./schema.ts";
import { Refusals } from "./refusals.ts";
import { createSending } from "./sending.ts";
import { statusOf } from "./status.ts";

/** Choice: interval of the sweep that resumes unfinished work. */
const SWEEP_EVERY_MS = 60_000;
/** Choice: milliseconds after the start after which accounts run, even if the host has not reported that it is ready. */
const OPEN_AFTER_MS = 1_000;

/** Spec: http/sessions-routing.md §7.3. */
const ChannelDefaults = Strict(
  {
    heartbeat: Strict(
      {
        showOk: Type.Boolean({ default: false, description: "send people a message when nothing needs attention" }),
        showAlerts: Type.Boolean({
          default: true,
          description: "send people a message when something needs attention",
        }),
        useIndicator: Type.Boolean({ default: true, description: "`heartbeat` events include ok, alert or error" }),
      },
      { default: {} },
    ),
  },
  { reload: "hot" },
);

export default definePlugin({
  id: "channels",
  api: "^1.0.0",
  // Each channel has its own section `channels.<id>`; this one has the settings of all channels.
  section: "channels.defaults",
  config: ChannelDefaults,
  // Live: a channel stays connected while the plugins of agents or sessions are reloaded.
  requires: {
    storage: Storage,
    host: GatewayInfo,
    sessions: live(Sessions),
    runs: live(AgentRuns),
    agents: live(AgentDirectory),
    commands: live(ChatCommands),
  },
  configWarnings: strangersInMain,
  provides: [Delivery],
  after: ["agents", "commands", "sessions"],

  setup(gateway) {
    const { clock, log, services, signal } = gateway;
    const { sessions, runs, agents, commands, host } = services;
    const storage = new OpenStorage(services.storage);
    const inbound = new InboundStore(storage);
    const texts = new OutboxStore(storage);
    const random = Math.random;

    const accounts: ChannelAccounts = new ChannelAccounts({
      view: gateway.own(Channel),
      host,
      clock,
      log,
      random,
      receive: (from, message) => receiving.receive(sourceOf(from), message),
      connected: (from) => outbox.connected(from),
      commands: () => menuOf(commands.get()),
    });
    const outbox = new Outbox({
      store: texts,
      accounts,
      async mirror(sessionKey, message, alongside) {
        const known = sessions.get();
        if (known) await known.append(sessionKey, [message], alongside);
        else await texts.write(alongside);
      },
      clock,
      log,
      random,
      signal,
    });
    const isAllowed = (message: AcceptedMessage) => {
      const channel = accounts.channel(message.channel);
      if (!channel) return true; // the channel is not loaded now
      const account = accounts.account(channel, message.accountId)?.account;
      return account !== undefined && isStillAllowed(account, message);
    };
    const answering = new Answering({
      store: inbound,
      outbox,
      runs,
      sessions,
      commands,
      isAllowed,
      clock,
      log,
      random,
      signal,
    });
    const refusals = new Refusals({ clock, log });
    const receiving = new Receiving({
      store: inbound,
      refusals,
      say: (text) => outbox.add(text),
      sessions,
      commands,
      clock,
      log,
      waiting: (channel, accountId) => answering.waiting(channel, accountId),
      accepted: (message) => answering.begin(message),
    });

    let { heartbeat } = gateway.config;
    gateway.configChanged((config) => void ({ heartbeat } = config));
    gateway.provide(Delivery, createDelivery({ accounts, outbox, sessions, heartbeats: () => heartbeat }));
    gateway.serve(channels, {
      async status({ params }) {
        const failures: Awaited<ReturnType<OutboxStore["failures"]>> = storage.isOpen
          ? await texts.failures()
          : new Map();
        const counts = (channel: string, accountId: string) => {
          const failed = failures.get(`${channel} ${accountId}`);
          return {
            waitingInbound: answering.waiting(channel, accountId),
            waitingOutbound: outbox.waiting(channel, accountId),
            failedOutbound: failed?.count ?? 0,
            ...refusals.of(channel, accountId),
            ...(failed ? { lastFailedOutbound: failed.reason } : {}),
          };
        };
        return statusOf(params, { accounts, clock, counts, sessions });
      },
      logout: createLogout(accounts, signal),
    });
    const sending = { accounts, outbox, sessions, agents, clock };
    gateway.serve(outbound, createSending(sending));
    gateway.extend(Tool, "message", messageTool({ ...sending, runs }));

    let isOpen = false;
    let isAway = false;
    /** Logs one warning when storage becomes unavailable; the next sweep tries again. */
    const withStorage = async (work: () => Promise<void>) => {
      try {
        await work();
        isAway = false;
      } catch (error) {
        if (!isGatewayError(error) || error.code !== "UNAVAILABLE") throw error;
        if (!isAway)
          log.warn(
            { reason: error.message },
            "storage is unavailable; retrying every minute to resume messages of channels",
          );
        isAway = true;
      }
    };
    /** Without a channel there is nothing to do, and storage is not read. */
    const follow = async () => {
      if (!isOpen || signal.aborted) return;
      accounts.reconcile();
      answering.recheck();
      if (accounts.channels().length === 0) return;
      await withStorage(async () => void (await Promise.all([answering.recover(), outbox.recover()])));
    };
    const open = async () => {
      isOpen = true;
      await follow();
    };
    // Accounts start, and unfinished messages are resumed, once the tools of all plugins are available.
    gateway.hooks.hostReady.tap(open);
    gateway.hooks.pluginState.tap(follow);
    gateway.hooks.configChanged.tap(follow);
    gateway.after(OPEN_AFTER_MS, open);
    gateway.every(SWEEP_EVERY_MS, follow);
    gateway.extend(Retention, "channels", CHANNEL_RETENTION);
    gateway.busy(() => outbox.isBusy);
    gateway.start(async () => {
      if (host.url !== undefined) await open();
      return async () => {
        await outbox.stop();
        await accounts.stop();
      };
    });
  },
});

function sourceOf({ channel, contribution, account }: AccountRun): Source {
  const { label, capabilities } = contribution.value;
  return { channel, label, maxTextChars: capabilities.maxTextChars, account };
}
