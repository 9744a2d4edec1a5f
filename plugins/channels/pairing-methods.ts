/** Handlers of `channels.pairing.*`. */
import { randomUUID } from "node:crypto";
import { type Contribution, type Handlers, invalidRequest } from "@svc/sdk";
import type { Channel, channelPairing } from "@svc/sdk/channels";
import { defaultAccountOf, type ChannelAccounts } from "./accounts/channel-accounts.ts";
import type { NewText } from "./outbox/outbox-store.ts";
import {
  type ApprovedPairing,
  CODE_MS,
  MAX_PENDING,
  type Pairing,
  type PairingRequest,
  type PendingPairing,
} from "./access/pairing.ts";

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
      const waiting = pending.filter(isWanted);
      const places = accounts
        .configured()
        .filter(({ id }) => channel === undefined || id === channel)
        .flatMap((one) =>
          accounts.accounts(one).flatMap(({ account, run }) => (run ? accountOf(one, account.id) : [])),
        );
      return {
        pending: waiting.map((one) => ({
          ...personOf(one),
          code: one.code,
          requestedAtMs: one.expiresAt - CODE_MS,
          expiresAtMs: one.expiresAt,
        })),
        approved: approved.filter(isWanted).map(viewOf),
        accounts: places,
        requests: waiting.map((one) => requestOf(one, accounts.channel(one.channel)?.value.label)),
        commandOwnerConfigured: true as const,
        limits: { pendingPerAccount: MAX_PENDING, ttlMs: CODE_MS },
      };
    },

    async approve({ params: { channel, accountId, code, requestId, notify = true } }) {
      if (code !== undefined && requestId !== undefined)
        invalidRequest("code and requestId exclude each other; give one of them");
      const { id, value } = accounts.chosen(channel);
      const given = code ?? requestId ?? invalidRequest("code is missing; see channels.pairing.list");
      const approved = await pairing.approve(id, accountId, given);
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

function accountOf({ id, value }: Contribution<Channel>, accountId: string) {
  return { channel: id, channelLabel: value.label, accountId, notifySupported: true };
}

function requestOf({ channel, accountId, senderId, senderName, code, expiresAt }: PendingPairing, label = channel) {
  const createdAt = new Date(expiresAt - CODE_MS).toISOString();
  return {
    requestId: code,
    channel,
    channelLabel: label,
    accountId,
    senderId,
    senderLabel: senderName || senderId,
    createdAt,
    lastSeenAt: createdAt,
    expiresAt: new Date(expiresAt).toISOString(),
    notifySupported: true,
  };
}

function viewOf({ approvedAt, ...request }: ApprovedPairing) {
  return { ...personOf(request), approvedAtMs: approvedAt };
}

function personOf({ channel, accountId, senderId, senderName }: PairingRequest) {
  return { channel, accountId, senderId, ...(senderName === undefined ? {} : { senderName }) };
}
