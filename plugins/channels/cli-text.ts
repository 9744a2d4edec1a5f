/** What `svc channels ...` prints. Pure. */
import type { ResultOf } from "@svc/sdk";
import type { ChannelAccountSnapshot, channels } from "@svc/sdk/channels";
import { table, time, visible } from "@svc/sdk/cli";

type Status = ResultOf<typeof channels.status>;

export function statusLines({ channelOrder, channelLabels, channelAccounts }: Status): string[] {
  if (channelOrder.length === 0) {
    return ["no channel is loaded; channels are plugins. Next: svc plugins list"];
  }
  const accounts = channelOrder.flatMap((id) => (channelAccounts[id] ?? []).map((account) => ({ id, account })));
  const bare = channelOrder.filter((id) => (channelAccounts[id] ?? []).length === 0);
  const rows = accounts.map(({ id, account }) => [
    visible(id),
    visible(account.accountId),
    visible(stateOf(account)),
    seen(account.lastInboundAt),
    seen(account.lastOutboundAt),
    String((account.waitingInbound ?? 0) + (account.waitingOutbound ?? 0)),
    String(account.failedOutbound ?? 0),
  ]);
  return [
    ...(rows.length === 0
      ? []
      : table([["CHANNEL", "ACCOUNT", "STATE", "LAST IN", "LAST OUT", "WAITING", "FAILED"], ...rows])),
    ...accounts.flatMap(({ id, account }) => troubleOf(id, account)),
    ...accounts.flatMap(({ id, account: { accountId, probe } }) =>
      probe === undefined ? [] : [`${visible(id)} ${visible(accountId)} says: ${visible(JSON.stringify(probe))}`],
    ),
    ...bare.map(
      (id) => `${visible(channelLabels[id] ?? id)} has no account. Next: svc config set channels.${visible(id)} ...`,
    ),
  ];
}

function stateOf({ enabled, configured, state = "stopped" }: ChannelAccountSnapshot): string {
  if (enabled === false) return "switched off";
  return configured === false ? "not configured" : state;
}

function seen(at: number | null | undefined): string {
  return typeof at === "number" ? time(at) : "-";
}

function troubleOf(
  id: string,
  { accountId, lastError, nextAttemptAt, linked, failedOutbound = 0, lastFailedOutbound }: ChannelAccountSnapshot,
): string[] {
  const who = `${visible(id)} ${visible(accountId)}`;
  return [
    ...(typeof lastError === "string" ? [`${who}: ${visible(lastError)}`] : []),
    ...(typeof nextAttemptAt === "number" ? [`${who} is tried again at ${time(nextAttemptAt)}`] : []),
    ...(failedOutbound > 0 && lastFailedOutbound !== undefined
      ? [`${who}: the last text that could not be sent: ${visible(lastFailedOutbound)}. Next: svc logs`]
      : []),
    ...(linked === false ? [`${who} has to be logged in. Next: svc config get channels.${visible(id)}`] : []),
  ];
}
