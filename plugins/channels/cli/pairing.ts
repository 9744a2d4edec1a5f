/** `svc channels pairing list|approve|remove`: access of unknown people by code. */
import { channelPairing } from "@svc/sdk/channels";
import { type CommandContext, show, table, time, visible, withGateway } from "@svc/sdk/cli";

const SCOPES = ["operator.pairing"];

export async function pairingList(context: CommandContext): Promise<void> {
  const [channel] = context.args;
  await withGateway(context, SCOPES, async (client) => {
    const people = await client.call(channelPairing.list, channel === undefined ? {} : { channel });
    show(context, people, ({ pending, approved }) => [
      ...(pending.length === 0 ? ["Nobody waits for access."] : []),
      ...(pending.length === 0
        ? []
        : table([
            ["CHANNEL", "ACCOUNT", "CODE", "WHO", "NAME", "EXPIRES"],
            ...pending.map((one) => [
              visible(one.channel),
              visible(one.accountId),
              visible(one.code),
              visible(one.senderId),
              visible(one.senderName ?? "-"),
              time(one.expiresAtMs),
            ]),
          ])),
      ...(pending[0] ? [`Next: svc channels pairing approve ${visible(pending[0].channel)} ${pending[0].code}`] : []),
      ...(approved.length === 0
        ? []
        : table([
            ["CHANNEL", "ACCOUNT", "APPROVED", "WHO", "NAME"],
            ...approved.map((one) => [
              visible(one.channel),
              visible(one.accountId),
              time(one.approvedAtMs),
              visible(one.senderId),
              visible(one.senderName ?? "-"),
            ]),
          ])),
    ]);
  });
}

export async function pairingApprove(context: CommandContext): Promise<void> {
  const [channel = "", code = ""] = context.args;
  const { account, quiet } = context.options as { readonly account?: string; readonly quiet?: boolean };
  await withGateway(context, SCOPES, async (client) => {
    const params = { channel, code, notify: quiet !== true, ...(account === undefined ? {} : { accountId: account }) };
    show(context, await client.call(channelPairing.approve, params), ({ approved: { senderId, senderName } }) => [
      `${visible(senderName ?? senderId)} (${visible(senderId)}) has access to the agent on ${visible(channel)}.`,
    ]);
  });
}

export async function pairingRemove(context: CommandContext): Promise<number> {
  const [channel = "", senderId = ""] = context.args;
  const { account } = context.options as { readonly account?: string };
  return withGateway(context, SCOPES, async (client) => {
    const params = { channel, senderId, ...(account === undefined ? {} : { accountId: account }) };
    const result = await client.call(channelPairing.remove, params);
    show(context, result, ({ removed }) => [
      removed
        ? `${visible(senderId)} has no access on ${visible(channel)} any more.`
        : `${visible(senderId)} had no access by code on ${visible(channel)}. Next: svc channels pairing list`,
    ]);
    return result.removed ? 0 : 1;
  });
}
