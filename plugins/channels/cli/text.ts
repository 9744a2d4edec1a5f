/** Output of `svc channels ...`. Pure. */
import type { ResultOf } from "@svc/sdk";
import type { ChannelAccountSnapshot, channels } from "@svc/sdk/channels";
import { type DoctorFinding, table, time, visible } from "@svc/sdk/cli";

type Status = ResultOf<typeof channels.status>;

export function statusLines({ channelOrder, channelLabels, channelAccounts }: Status): string[] {
  if (channelOrder.length === 0) {
    return ["no channel is loaded; install or enable a channel plugin. Next: svc plugins list"];
  }
  const accounts = channelOrder.flatMap((id) => (channelAccounts[id] ?? []).map((account) => ({ id, account })));
  const bare = channelOrder.filter((id) => (channelAccounts[id] ?? []).length === 0);
  const shown = accounts.filter(({ account }) => account.configured !== false);
  const rows = (shown.length === 0 ? accounts : shown).map(({ id, account }) => [
    visible(id),
    visible(account.accountId),
    visible(stateOf(account)),
    seen(account.lastInboundAt),
    seen(account.lastOutboundAt),
    seen(account.lastProofAt),
    String((account.waitingInbound ?? 0) + (account.waitingOutbound ?? 0)),
    String(account.failedOutbound ?? 0),
  ]);
  return [
    ...(rows.length === 0
      ? []
      : table([["CHANNEL", "ACCOUNT", "STATE", "LAST IN", "LAST OUT", "PROOF", "WAITING", "FAILED"], ...rows])),
    ...accounts.flatMap(({ id, account }) => troubleOf(id, account)),
    ...accounts.flatMap(({ id, account: { accountId, probe } }) =>
      probe === undefined ? [] : [`${visible(id)} ${visible(accountId)} probe: ${visible(JSON.stringify(probe))}`],
    ),
    ...bare.map((id) => `${visible(channelLabels[id] ?? id)} has no account. Next: svc channels add ${visible(id)}`),
  ];
}

/** For `svc channels list`: every loaded channel, configured or not. */
export function listLines({ channelOrder, channelLabels, channelAccounts }: Status): string[] {
  if (channelOrder.length === 0) return ["no channel is loaded. Next: svc plugins list"];
  const rows = channelOrder.flatMap((id) =>
    (channelAccounts[id] ?? []).map((account) => [
      visible(id),
      visible(channelLabels[id] ?? id),
      visible(account.accountId),
      visible(account.name ?? "-"),
      visible(stateOf(account)),
    ]),
  );
  return [
    ...table([["CHANNEL", "LABEL", "ACCOUNT", "NAME", "STATE"], ...rows]),
    "Set one up: svc channels add <channel>",
  ];
}

/** For `svc doctor`: accounts that are not connected, texts that failed, settings that let in unknown senders. */
export function findingsOf({ channelOrder, channelAccounts }: Status): DoctorFinding[] {
  return channelOrder.flatMap((id) =>
    (channelAccounts[id] ?? []).flatMap((account) => {
      const {
        accountId,
        linked,
        connected,
        lastError,
        failedOutbound = 0,
        lastFailedOutbound,
        warnings = [],
      } = account;
      const finding = (message: string, next: string): DoctorFinding => ({
        severity: "warning",
        check: "channels",
        about: `channel ${id}, account ${accountId}`,
        message,
        next,
      });
      return [
        ...(linked === false ? [finding("it needs a login", `svc channels login ${id}`)] : []),
        ...(connected === false && typeof lastError === "string"
          ? [finding(`it is not connected: ${lastError}`, "svc channels status --probe")]
          : []),
        ...(failedOutbound > 0
          ? [
              finding(
                `${failedOutbound} texts could not be sent; last reason: ${lastFailedOutbound ?? "-"}`,
                "svc logs",
              ),
            ]
          : []),
        ...warnings.map(({ message, next }) => finding(message, next)),
      ];
    }),
  );
}

function stateOf({ enabled, configured, state = "stopped" }: ChannelAccountSnapshot): string {
  if (enabled === false) return "disabled";
  return configured === false ? "not configured" : state;
}

function seen(at: number | null | undefined): string {
  return typeof at === "number" ? time(at) : "-";
}

function troubleOf(id: string, account: ChannelAccountSnapshot): string[] {
  const { accountId, lastError, nextAttemptAt, linked, failedOutbound = 0, lastFailedOutbound } = account;
  const { refusedInbound = 0, lastRefusedInbound: refused, warnings = [], pendingPairings = 0 } = account;
  const who = `${visible(id)} ${visible(accountId)}`;
  return [
    ...(typeof lastError === "string" ? [`${who}: ${visible(lastError)}`] : []),
    ...(typeof nextAttemptAt === "number" ? [`${who} restarts at ${time(nextAttemptAt)}`] : []),
    ...(failedOutbound > 0 && lastFailedOutbound !== undefined
      ? [`${who}: last send failure: ${visible(lastFailedOutbound)}. Next: svc logs`]
      : []),
    ...(refused
      ? [
          `${who} REFUSED ${refusedInbound}, last: ${visible(refused.who)} (${visible(refused.why)})`,
          `Next: ${visible(refused.next)}`,
        ]
      : []),
    ...warnings.map(({ message, next }) => `${who}: ${visible(message)}. Next: ${visible(next)}`),
    ...(linked === false ? [`${who} needs a login. Next: svc channels login ${visible(id)}`] : []),
    ...(pendingPairings > 0
      ? [`${who}: ${pendingPairings} waiting for access. Next: svc channels pairing list ${visible(id)}`]
      : []),
  ];
}
