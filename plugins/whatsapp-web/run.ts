/** One run of an account: connects, submits what arrives in order, and connects again when WhatsApp asks for it. */
import { type Bounded, bounded, submitted } from "@svc/kit/channels";
import { type Clock, type Logger, messageOf } from "@svc/sdk";
import type { ChannelRun } from "@svc/sdk/channels";
import type { GroupMetadata, WAMessage } from "@whiskeysockets/baileys";
import { isGroup, personOf } from "./address.ts";
import type { Keys } from "./keys.ts";
import type { Library } from "./library.ts";
import type { Settings } from "./settings.ts";
import { endError, isLoggedOut, openSocket, RESTART, type Socket } from "./socket.ts";
import type { Store } from "./store.ts";
import { type Scene, toInbound } from "./translate.ts";

const MAX_GROUPS = 200;
const MAX_CHATS = 2_000;
/** Milliseconds within which WhatsApp must accept a login. */
const OPEN_MS = 60_000;

/** A connected account. */
export interface Live {
  readonly socket: Socket;
  readonly keys: Keys;
  readonly groups: Bounded<GroupMetadata>;
  /** Seconds after which messages of a chat disappear. */
  readonly lifetimes: Bounded<number>;
}

export interface RunContext {
  readonly clock: Clock;
  readonly log: Logger;
  readonly library: Library;
  readonly store: Store;
  readonly live: Map<string, Live>;
}

/** @throws GatewayError `NOT_LINKED`: the number is not linked; `UNAVAILABLE`: the connection was lost */
export async function runAccount(run: ChannelRun<Settings>, context: RunContext): Promise<void> {
  const { accountId, signal, report } = run;
  if (signal.aborted) return;
  report({ state: "connecting" });
  const keys = await context.store.keys(accountId);
  if (keys.auth.creds.me === undefined) throw endError(401, accountId);
  for (let status = RESTART; status === RESTART;) {
    status = await connected(run, keys, context);
    if (signal.aborted) return;
    if (isLoggedOut(status)) await context.store.deleteKeys(accountId);
    if (status !== RESTART) throw endError(status, accountId);
  }
}

/** @returns the status code of the end */
async function connected(run: ChannelRun<Settings>, keys: Keys, context: RunContext): Promise<number> {
  const { accountId, settings, signal, receive, report, alive } = run;
  const { clock, log, library, store, live } = context;
  const groups = bounded<GroupMetadata>(MAX_GROUPS);
  const lifetimes = bounded<number>(MAX_CHATS);
  const socket = openSocket({
    library,
    keys,
    settings,
    storing: (message) => store.adding(accountId, message, true),
    sent: async (id) => (await store.find(accountId, id))?.message.message ?? undefined,
    groupOf: (jid) => groups.get(jid),
  });
  const { client } = socket;
  let fail = (_error: unknown) => {};
  const failed = new Promise<never>((_, reject) => (fail = reject));
  failed.catch(() => undefined);
  let last: Promise<unknown> = Promise.resolve();
  const inOrder = (work: () => Promise<unknown>) => {
    last = last.then(work);
    last.catch(fail);
  };

  const scene: Scene = {
    library,
    own: ownOf(keys),
    numberOf: (lid) => client.signalRepository.lidMapping.getPNForLID(lid),
    async nameOf(group) {
      const known = groups.get(group) ?? (await client.groupMetadata(group).catch(() => undefined));
      if (known) groups.set(group, known);
      return known?.subject;
    },
    find: async (id) => (await store.find(accountId, id))?.message,
  };

  async function submit(message: WAMessage): Promise<void> {
    const { id = "", remoteJid = "" } = message.key as { id?: string; remoteJid?: string }; // messages with both only
    const inbound = isWanted(message, scene, settings) ? await toInbound(message, scene) : undefined;
    if (inbound) {
      const receipt = await submitted({ receive, signal }, inbound, { clock, log });
      const lifetime = lifetimeOf(message, library);
      if (lifetime !== undefined) lifetimes.set(remoteJid, lifetime);
      if (receipt.accepted && settings.sendReadReceipts && !inbound.event) void markRead(message);
    }
    await store.accepted(accountId, id);
  }

  async function arrived(message: WAMessage): Promise<void> {
    const { id } = message.key;
    if (!id || !message.message) return; // WhatsApp repeats what could not be decrypted
    const known = await store.find(accountId, id);
    if (known && !known.isWaiting) return;
    if (!known) await store.add(accountId, message, true);
    await submit(message);
  }

  async function markRead({ key }: WAMessage): Promise<void> {
    await client
      .readMessages([key])
      .catch((error: unknown) => log.debug({ reason: messageOf(error) }, "a message was not marked as read"));
  }

  client.ev.on("creds.update", () => void keys.save().catch(fail));
  client.ev.on("messages.upsert", ({ messages }) => {
    for (const message of messages) inOrder(() => arrived(message));
  });
  client.ev.on("groups.update", (changes) => changes.forEach(({ id = "" }) => groups.delete(id)));
  client.ev.on("group-participants.update", ({ id }) => groups.delete(id));
  client.ws.on("frame", alive);

  const stop = () => socket.end();
  signal.addEventListener("abort", stop, { once: true });
  const late = clock.setTimeout(() => fail(endError(408, accountId)), OPEN_MS);
  try {
    for (const message of await store.waiting(accountId)) inOrder(() => submit(message));
    void socket.opened.then(() => {
      late();
      live.set(accountId, { socket, keys, groups, lifetimes });
      report({ state: "connected", detail: `+${scene.own[0] ?? ""}` });
    });
    return await Promise.race([socket.ended, failed]);
  } finally {
    late();
    signal.removeEventListener("abort", stop);
    if (live.get(accountId)?.socket === socket) live.delete(accountId);
    socket.end();
    await last.catch(() => undefined);
    await keys.save().catch(() => undefined);
  }
}

/** Addresses of the linked number: the number first, then the hidden one. */
export function ownOf({ auth: { creds } }: Keys): readonly string[] {
  return [creds.me?.id, creds.me?.lid].flatMap((jid) => (jid ? (personOf(jid) ?? []) : []));
}

/** Whether the agent may see the message. What the linked number itself writes is for its owner, except in the own chat. */
function isWanted({ key }: WAMessage, { own }: Scene, { selfChat }: Settings): boolean {
  const chat = key.remoteJid ?? "";
  const isOwnChat = own.includes(personOf(chat) ?? "");
  if (selfChat) return key.fromMe === true && isOwnChat;
  return key.fromMe !== true && (isGroup(chat) || personOf(chat) !== undefined);
}

function lifetimeOf({ message }: WAMessage, { normalizeMessageContent }: Library): number | undefined {
  const parts = Object.values(normalizeMessageContent(message) ?? {}) as ({
    contextInfo?: { expiration?: number };
  } | null)[];
  return parts.find((part) => part?.contextInfo?.expiration)?.contextInfo?.expiration;
}
