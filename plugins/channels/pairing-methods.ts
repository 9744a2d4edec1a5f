/** Handlers of `channels.pairing.*`. */
import { randomUUID } from "node:crypto";
import type { Handlers } from "@svc/sdk";
import type { channelPairing } from "@svc/sdk/channels";
import { defaultAccountOf, type ChannelAccounts } from "./accounts/channel-accounts.ts";
import type { NewText } from "./outbox/outbox-store.ts";
import { type ApprovedPairing, CODE_MS, type Pairing, type PairingRequest } from "./access/pairing.ts";

export const LET_IN_TEXT = "You have access now. Write a message to begin.";

interface PairingMethodSources {
  readonly pairing: Pairing;
  readonly accounts: ChannelAccounts;
  readonly say: (text: NewText) => Promise<void>;
  /** Called after somebody got access. */
  readonly admitted: (person: ApprovedPairing) => void;
  /** Called after somebody lost access. */
  readonly revoked: () => void;
}

export function pairingMethods({
  pairing,
  accounts,
  say,
  admitted,
  revoked,
}: PairingMethodSources): Handlers<typeof channelPairing> {
  return {
    async list({ params }) {
      const channel = params.channel === undefined ? undefined : accounts.chosen(params.channel).id;
      const isWanted = (one: PairingRequest) => channel === undefined || one.channel === channel;
      const [pending, approved] = await Promise.all([pairing.pending(), pairing.approved()]);
      return {
        pending: pending.filter(isWanted).map((one) => ({
          ...personOf(one),
          code: one.code,
          requestedAtMs: one.expiresAt - CODE_MS,
          expiresAtMs: one.expiresAt,
        })),
        approved: approved.filter(isWanted).map(viewOf),
      };
    },

    async approve({ params: { channel, accountId, code, notify = true } }) {
      const { id, value } = accounts.chosen(channel);
      const approved = await pairing.approve(id, accountId, code);
      admitted(approved);
      const { accountId: account, chatId } = approved;
      const place = { channel: id, accountId: account, to: chatId, maxChars: value.capabilities.maxTextChars };
      if (notify) await say({ id: `paired:${randomUUID()}`, text: LET_IN_TEXT, ...place });
      return { approved: viewOf(approved) };
    },

    async remove({ params: { channel, accountId, senderId } }) {
      const { id, value } = accounts.chosen(channel);
      const removed = await pairing.remove(id, accountId ?? defaultAccountOf(value), senderId);
      if (removed) revoked();
      return { removed };
    },
  };
}

function viewOf({ approvedAt, ...request }: ApprovedPairing) {
  return { ...personOf(request), approvedAtMs: approvedAt };
}

function personOf({ channel, accountId, senderId, senderName }: PairingRequest) {
  return { channel, accountId, senderId, ...(senderName === undefined ? {} : { senderName }) };
}
