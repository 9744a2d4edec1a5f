/** Channels: where people talk to agents. Owns the extension point, runs the accounts, takes messages in and sends texts out. */
import { definePlugin, isGatewayError, live, Strict, Type } from "@svc/sdk";
import { AgentDirectory, AgentRuns } from "@svc/sdk/agents";
import { Channel, channels, Delivery, outbound } from "@svc/sdk/channels";
import { GatewayInfo } from "@svc/sdk/gateway";
import { Sessions } from "@svc/sdk/sessions";
import { Retention, Storage } from "@svc/sdk/storage";
import { Tool } from "@svc/sdk/tools";
import type { AccountRun } from "./account.ts";
import { Answering } from "./answering.ts";
import { strangersInMain } from "./config-warnings.ts";
import { createDelivery } from "./delivery.ts";
import { type AcceptedMessage, InboundStore } from "./inbound-store.ts";
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

/** Choice: milliseconds between two checks for work that is left over. */
const SWEEP_EVERY_MS = 60_000;
/** Choice: milliseconds after the start after which accounts run, should nobody say that the host is ready. */
const OPEN_AFTER_MS = 1_000;

/** Spec: http/sessions-routing.md §7.3. */
const ChannelDefaults = Strict(
  {
    heartbeat: Strict(
      {
        showOk: Type.Boolean({ default: false, description: "people are told that nothing needs attention" }),
        showAlerts: Type.Boolean({ default: true, description: "people are told what needs attention" }),
        useIndicator: Type.Boolean({ default: true, description: "`heartbeat` events say ok, alert or error" }),
      },
      { default: {} },
    ),
  },
  { reload: "hot" },
);

export default definePlugin({
  id: "channels",
  api: "^1.0.0",
  // Each channel has a section `channels.<id>` of its own; this one is what they have in common.
  section: "channels.defaults",
  config: ChannelDefaults,
  // Live: a channel does not lose its connection because agents or sessions are loaded anew.
  requires: {
    storage: Storage,
    host: GatewayInfo,
    sessions: live(Sessions),
    runs: live(AgentRuns),
    agents: live(AgentDirectory),
  },
  configWarnings: strangersInMain,
  provides: [Delivery],
  after: ["agents", "sessions"],

  setup(gateway) {
    const { clock, log, services, signal } = gateway;
    const { sessions, runs, agents, host } = services;
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
      if (!channel) return true; // nothing is known of it now
      const account = accounts.account(channel, message.accountId)?.account;
      return account !== undefined && isStillAllowed(account, message);
    };
    const answering = new Answering({ store: inbound, outbox, runs, sessions, isAllowed, clock, log, random, signal });
    const refusals = new Refusals({ clock, log });
    const receiving = new Receiving({
      store: inbound,
      refusals,
      say: (text) => outbox.add(text),
      sessions,
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
    /** A storage that is away costs one warning, and is asked again by the next sweep. */
    const withStorage = async (work: () => Promise<void>) => {
      try {
        await work();
        isAway = false;
      } catch (error) {
        if (!isGatewayError(error) || error.code !== "UNAVAILABLE") throw error;
        if (!isAway)
          log.warn({ reason: error.message }, "storage is away; messages of channels are resumed when it is back");
        isAway = true;
      }
    };
    /** Without a channel there is nothing to do, and nothing is read. */
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
    // Accounts run, and messages left over are resumed, once every plugin's tools are there.
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
