/** `channels.status`: channels, accounts and their state. Reads only. Spec: protocol/methods-channels.md §1. */
import { withDeadline } from "@svc/kit/time";
import { type Clock, type Live, type ParamsOf, type ResultOf, unavailable, untilAborted } from "@svc/sdk";
import type { ChannelAccountSnapshot, ChannelCapabilities, channels } from "@svc/sdk/channels";
import type { Sessions } from "@svc/sdk/sessions";
import { EVERYBODY } from "../access/admission.ts";
import type { ApprovedPairing, PendingPairing } from "../access/pairing.ts";
import type { AccountState } from "./account.ts";
import { hideIn, secretsOf, toldError } from "./hidden.ts";
import { defaultAccountOf, isRun, type Listed, type ChannelAccounts } from "./channel-accounts.ts";

/** Time limit of one probe in milliseconds. Spec: §1. */
const PROBE_MS = 10_000;
const LEAST_PROBE_MS = 1_000;

type Status = ResultOf<typeof channels.status>;

export interface StatusSources {
  readonly accounts: ChannelAccounts;
  readonly clock: Clock;
  /** By account: numbers of waiting and failed texts. */
  readonly counts: (channel: string, accountId: string) => Partial<ChannelAccountSnapshot>;
  readonly sessions: Live<Sessions>;
  /** People whose pairing code waits for approval. */
  readonly pending: readonly Pick<PendingPairing, "channel" | "accountId">[];
  /** People whose code was approved. */
  readonly approved: readonly Pick<ApprovedPairing, "channel" | "accountId" | "senderId">[];
}

/** @throws GatewayError `UNAVAILABLE` a probe failed */
export async function statusOf(params: ParamsOf<typeof channels.status>, sources: StatusSources): Promise<Status> {
  const { accounts, clock } = sources;
  const { channel: only, accountId } = params;
  const all = only === undefined ? accounts.channels() : [accounts.chosen(only)];
  const entries = <T>(of: (channel: (typeof all)[number]) => T) =>
    Object.fromEntries(all.map((channel) => [channel.id, of(channel)]));
  const snapshots = await Promise.all(
    all.map(
      async (channel) =>
        [
          channel.id,
          await Promise.all(
            accounts
              .accounts(channel)
              .filter(({ account }) => account.id === (accountId ?? account.id))
              .map((listed) => snapshot(listed, params, sources)),
          ),
        ] as const,
    ),
  );
  return {
    ts: clock.now(),
    channelOrder: all.map(({ id }) => id),
    channelLabels: entries(({ value }) => value.label),
    channelDetailLabels: entries(({ value }) => value.label),
    channelSystemImages: {},
    channelMeta: all.map(({ id, value }) => ({
      id,
      label: value.label,
      detailLabel: value.label,
      login: value.login !== undefined,
      logout: value.logout !== undefined,
      probe: value.probe !== undefined,
      lacks: lacksOf(value.capabilities),
    })),
    channels: entries(({ value }) => ({ configured: value.accounts.some(isRun) })),
    channelAccounts: Object.fromEntries(snapshots),
    channelDefaultAccountId: entries(({ value }) => defaultAccountOf(value)),
  };
}

/** What a network cannot do, for people who wonder why something is missing. */
function lacksOf(capabilities: ChannelCapabilities): string[] {
  const { chats, media = [], threads, replies, voice, reactions, edits, typing, buttons, polls } = capabilities;
  const has = {
    direct: chats.includes("direct"),
    groups: chats.includes("group"),
    threads,
    replies,
    images: media.includes("image"),
    audio: media.includes("audio"),
    videos: media.includes("video"),
    files: media.includes("file"),
    voice,
    reactions,
    edits,
    typing,
    buttons,
    polls: polls !== undefined,
  };
  return Object.entries(has).flatMap(([name, isThere]) => (isThere === true ? [] : [name]));
}

async function snapshot(
  listed: Listed,
  { probe = false, timeoutMs = PROBE_MS }: ParamsOf<typeof channels.status>,
  sources: StatusSources,
): Promise<ChannelAccountSnapshot> {
  const { account, contribution, run } = listed;
  const { id, name, enabled = true, configured = true, dmPolicy = "pairing", allowFrom = [] } = account;
  const pendingPairings = sources.pending.filter(
    (one) => one.channel === contribution.id && one.accountId === id,
  ).length;
  return {
    accountId: id,
    ...(name === undefined ? {} : { name }),
    enabled,
    configured,
    dmPolicy,
    allowFrom: [...allowFrom],
    pendingPairings,
    ...stateFields(run?.state),
    ...sources.counts(contribution.id, id),
    ...warningsOf(listed, sources),
    ...(probe && isRun(account) ? await probed(listed, Math.max(LEAST_PROBE_MS, timeoutMs), sources) : {}),
  };
}

export const STRANGERS_IN_MAIN = {
  message:
    'anyone may write (allowFrom "*"), and the direct messages of all people share one session, with its history',
  next: "svc config set session.dmScope per-channel-peer",
};

export const SEVERAL_IN_MAIN = {
  message: "several people have access, and their direct messages share one session, with its history",
  next: "svc config set session.dmScope per-channel-peer",
};

function warningsOf(listed: Listed, sources: StatusSources) {
  const absence = sources.accounts.absence(listed);
  const warnings = [...(absence ? [absence] : []), ...sharing(listed, sources)];
  return warnings.length === 0 ? {} : { warnings };
}

/** Who shares a session with whom. Uses the routing, because `bindings` change it, too. */
function sharing({ account, contribution }: Listed, { sessions, approved }: StatusSources) {
  const known = sessions.get();
  const { allowFrom = [], id: accountId } = account;
  const { ownSessions: ownSession } = contribution.value.capabilities;
  const sessionOf = (person: string) =>
    known?.route({ channel: contribution.id, accountId, peer: { kind: "direct", id: person }, ownSession }).sessionKey;
  const share = ([one, other]: readonly string[]) =>
    one !== undefined && other !== undefined && known !== undefined && sessionOf(one) === sessionOf(other);
  const ids = allowFrom.map((id) => id.trim());
  if (ids.includes(EVERYBODY)) return share(["a-stranger", "another-stranger"]) ? [STRANGERS_IN_MAIN] : [];
  const paired = approved.filter((one) => one.channel === contribution.id && one.accountId === accountId);
  const people = [...new Set([...ids, ...paired.map(({ senderId }) => senderId)])];
  return share(people) ? [SEVERAL_IN_MAIN] : [];
}

function stateFields(state: AccountState | undefined): Partial<ChannelAccountSnapshot> {
  const { phase = "stopped", report, failures = 0, nextAttemptAt } = state ?? {};
  const detail = report?.detail === undefined ? "" : `: ${report.detail}`;
  const shown = phase === "running" ? `${report?.state ?? "starting"}${detail}` : phase;
  return {
    running: phase === "running" || phase === "pausing",
    connected: phase === "running" && report?.state === "connected",
    linked: phase !== "needs-login" && phase !== "logged-out",
    state: shown,
    reconnectAttempts: failures,
    nextAttemptAt: nextAttemptAt ?? null,
    lastConnectedAt: state?.lastConnectedAt ?? null,
    lastDisconnect: state?.lastDisconnect ?? null,
    lastStartAt: state?.lastStartAt ?? null,
    lastStopAt: state?.lastStopAt ?? null,
    lastInboundAt: state?.lastInboundAt ?? null,
    lastOutboundAt: state?.lastOutboundAt ?? null,
    lastError: state?.lastError ?? null,
    lastProofAt: latest(state?.lastProofAt, state?.lastInboundAt, state?.lastOutboundAt),
  };
}

/** Empty if the channel has no probe. */
async function probed({ account, contribution, run }: Listed, timeoutMs: number, { accounts, clock }: StatusSources) {
  if (!contribution.value.probe) return {};
  const { id: accountId, settings } = account;
  const late = () => `no response within ${timeoutMs} ms`;
  const secrets = secretsOf(settings);
  try {
    const probe = await withDeadline({ ms: timeoutMs, clock, signals: [], late }, (signal) => {
      const answer = accounts.call(contribution, async (channel) => channel.probe?.({ accountId, settings, signal }));
      return untilAborted(answer, signal);
    });
    run?.alive();
    const now = clock.now();
    return { probe: hideIn(probe, secrets), lastProbeAt: now, lastProofAt: now };
  } catch (error) {
    return unavailable(
      `the probe of channel ${contribution.id}, account "${accountId}", failed: ${toldError(error, secrets)}`,
    );
  }
}

/** The latest of several times; `null` without any. */
function latest(...times: readonly (number | undefined)[]): number | null {
  const known = times.filter((time) => time !== undefined);
  return known.length === 0 ? null : Math.max(...known);
}
