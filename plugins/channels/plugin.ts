/** Channels: connects agents to chat networks. Owns the extension point, runs the accounts, receives messages and sends texts. */
import { ownerOf, sharedClock, whenLeaving } from "@svc/kit/ownership";
import { definePlugin, isGatewayError, lazy, live, Strict, Type } from "@svc/sdk";
import { AgentDirectory, AgentRuns } from "@svc/sdk/agents";
import { ApprovalDecisions, ApprovalForwarder } from "@svc/sdk/approvals";
import {
  Channel,
  ChannelTransport,
  channelLogin,
  channelPairing,
  channels,
  Delivery,
  outbound,
  webLogin,
} from "@svc/sdk/channels";
import { ConfigStore } from "@svc/sdk/config";
import { ChatCommand, ChatCommands } from "@svc/sdk/commands";
import { GatewayInfo } from "@svc/sdk/gateway";
import { SystemEvents } from "@svc/sdk/heartbeat";
import { Documents, Transcription, VideoFrames } from "@svc/sdk/media";
import { Sessions } from "@svc/sdk/sessions";
import { Speech } from "@svc/sdk/speech";
import { Ownership, Retention, Storage } from "@svc/sdk/storage";
import { GroupToolPolicy, Tool } from "@svc/sdk/tools";
import { OutboundFetch } from "@svc/sdk/web";
import { lazySetupPart, SetupPart } from "@svc/sdk/wizard";
import { createGroupTools } from "./accounts/group-tools.ts";
import { Pairing } from "./access/pairing.ts";
import { pairingMethods } from "./pairing-methods.ts";
import { createLogins } from "./accounts/login.ts";
import { createApprovalChats } from "./approvals.ts";
import type { AccountRun } from "./accounts/account.ts";
import { Answering } from "./inbound/answering.ts";
import { strangersInMain } from "./config-warnings.ts";
import { attachmentsOf } from "./inbound/attachments.ts";
import { ContextStore } from "./inbound/context-store.ts";
import { LiveAnswers } from "./inbound/live-answers.ts";
import { createNetworkEvents } from "./inbound/network-events.ts";
import { MediaStore } from "./media-store.ts";
import { createDelivery } from "./outbox/delivery.ts";
import { type AcceptedMessage, InboundStore } from "./inbound/inbound-store.ts";
import { createLogout } from "./accounts/logout.ts";
import { createMessageAction } from "./outbox/message-action.ts";
import { messageTool } from "./outbox/message-tool.ts";
import { menuOf } from "./inbound/commands.ts";
import { OpenStorage } from "./open-storage.ts";
import { OwnedAccounts } from "./accounts/owned-accounts.ts";
import { createStateStore } from "./accounts/state-store.ts";
import { Outbox } from "./outbox/outbox.ts";
import { OutboxStore } from "./outbox/outbox-store.ts";
import type { Source } from "./inbound/inbound-message.ts";
import { isStillAllowed, Receiving } from "./inbound/receiving.ts";
import { createSpokenAnswers } from "./outbox/spoken-answers.ts";
import { ChannelAccounts } from "./accounts/channel-accounts.ts";
import { CHANNEL_RETENTION } from "./schema.ts";
import { Refusals } from "./access/refusals.ts";
import { createSending } from "./outbox/sending.ts";
import { statusOf } from "./accounts/status.ts";

const setupCode = lazy(() => import("./accounts/setup-part.ts"));

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
    ownership: Ownership,
    host: GatewayInfo,
    config: ConfigStore,
    sessions: live(Sessions),
    runs: live(AgentRuns),
    agents: live(AgentDirectory),
    documents: live(Documents),
    transcription: live(Transcription),
    frames: live(VideoFrames),
    speech: live(Speech),
    systemEvents: live(SystemEvents),
    fetching: live(OutboundFetch),
    decisions: live(ApprovalDecisions),
    commands: live(ChatCommands),
  },
  configWarnings: strangersInMain,
  provides: [Delivery, GroupToolPolicy],
  after: ["agents", "commands", "sessions"],

  setup(gateway) {
    const { log, services, signal } = gateway;
    const {
      ownership,
      sessions,
      runs,
      agents,
      commands,
      host,
      config,
      documents,
      transcription,
      frames,
      systemEvents,
      fetching,
      decisions,
    } = services;
    const clock = sharedClock(gateway.clock, ownership);
    const storage = new OpenStorage(services.storage);
    const owned = new OwnedAccounts();
    const inbound = new InboundStore(storage, () => owned.owner);
    const texts = new OutboxStore(storage, owned);
    const media = new MediaStore(storage);
    const pairing = new Pairing(storage, clock);
    const random = Math.random;

    const accounts: ChannelAccounts = new ChannelAccounts({
      view: gateway.own(Channel),
      transports: gateway.own(ChannelTransport),
      host,
      clock,
      log,
      random,
      receive: (from, message) => receiving.receive(sourceOf(from), message),
      connected: (from) => outbox.connected(from),
      state: createStateStore(storage, owned, clock),
      commands: () => menuOf(commands.get()),
      owned,
    });
    const outbox = new Outbox({
      store: texts,
      media,
      accounts,
      owned,
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
      const isApproved: Pairing["isApproved"] = (...sender) => pairing.isApproved(...sender);
      return account !== undefined && isStillAllowed(account, message, isApproved);
    };
    const live = new LiveAnswers({ accounts, outbox, store: texts, clock, log, signal });
    gateway.hooks.runEvent.tap(live.event);
    const reading = { accounts, agents, store: media, documents, transcription, frames, clock, log, random, signal };
    const speech = createSpokenAnswers({ speech: services.speech, accounts, media, clock, log, signal });
    const answering = new Answering({
      store: inbound,
      outbox,
      runs,
      sessions,
      attachments: (message) => attachmentsOf(message, reading),
      live,
      speech,
      accountOf(message) {
        const channel = accounts.channel(message.channel);
        return channel && accounts.account(channel, message.accountId)?.account;
      },
      commands,
      isAllowed,
      clock,
      log,
      random,
      signal,
    });
    const refusals = new Refusals({ clock, log });
    const approvalChats = createApprovalChats({ accounts, outbox, texts, sessions, decisions, log });
    gateway.extend(ApprovalForwarder, "channels", approvalChats.forwarder);
    gateway.extend(ChatCommand, "approve", approvalChats.command);
    const context = new ContextStore(storage);
    const receiving = new Receiving({
      store: inbound,
      context,
      pairing,
      events: createNetworkEvents({ context, events: systemEvents, clock, log }),
      pressed: (...press) => approvalChats.pressed(...press),
      refusals,
      outbox,
      sessions,
      commands,
      isLoading: () => accounts.isLoading(),
      clock,
      log,
      waiting: (channel, accountId) => answering.waiting(channel, accountId),
      accepted(message) {
        speech.interrupt(message.sessionKey);
        answering.begin(message);
      },
    });

    let { heartbeat } = gateway.config;
    gateway.configChanged((changed) => void ({ heartbeat } = changed));
    gateway.provide(
      Delivery,
      createDelivery({ accounts, outbox, sessions, media, speech, clock, heartbeats: () => heartbeat }),
    );
    gateway.provide(GroupToolPolicy, createGroupTools(accounts));
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
        const [pending, approved] = storage.isOpen
          ? await Promise.all([pairing.pending(), pairing.approved()])
          : [[], []];
        return statusOf(params, { accounts, clock, counts, sessions, pending, approved });
      },
      logout: createLogout(accounts, signal),
    });
    const logins = createLogins({ accounts, config, clock, signal });
    const setup = lazySetupPart({ title: "Chat networks", order: 400 }, async () =>
      (await setupCode()).createChannelPart({ accounts, logins: logins.steps }),
    );
    gateway.extend(SetupPart, "channels", setup);
    gateway.serve(channelLogin, logins.byMethods);
    gateway.serve(webLogin, logins.byWeb);
    gateway.serve(
      channelPairing,
      pairingMethods({
        pairing,
        accounts,
        say: (text) => outbox.add(text),
        admitted: ({ channel, accountId, senderId }) => refusals.admitted(channel, accountId, senderId),
        revoked: () => answering.recheck(),
      }),
    );
    const sending = { accounts, outbox, sessions, agents, media, fetching, clock };
    gateway.serve(outbound, { ...createSending(sending), ...createMessageAction({ ...sending, signal }) });
    gateway.extend(Tool, "message", messageTool({ ...sending, runs, stateDir: () => host.stateDir, signal }));

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
    /** Without a configured channel there is nothing to do, and storage is not read. */
    const follow = async () => {
      if (!isOpen || signal.aborted) return;
      await withStorage(async () => {
        await accounts.reconcile();
        answering.recheck();
        if (accounts.configured().length === 0 && !storage.isOpen) return;
        await pairing.load(); // access depends on it
        await Promise.all([answering.recover(), outbox.recover()]);
      });
    };
    const open = async () => {
      isOpen = true;
      await follow();
    };
    // Accounts start, and unfinished messages are resumed, once the tools of all plugins are available.
    gateway.hooks.hostReady.tap(open);
    whenLeaving(
      gateway,
      () => ownership,
      () => owned.leave(() => Promise.all([accounts.leave(), outbox.settled()])),
    );
    gateway.hooks.pluginState.tap(follow);
    gateway.hooks.configChanged.tap(follow);
    gateway.after(OPEN_AFTER_MS, open);
    gateway.every(SWEEP_EVERY_MS, follow);
    gateway.extend(Retention, "channels", CHANNEL_RETENTION);
    gateway.busy(() => outbox.isBusy);
    gateway.start(async () => {
      const owner = await ownerOf(gateway, ownership, follow);
      owned.open(owner);
      const cut = () => {
        outbox.cut();
        void accounts.stop();
      };
      owner.signal.addEventListener("abort", cut, { once: true, signal });
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
  return { channel, label, capabilities, account };
}
