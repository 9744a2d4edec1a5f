/** Sockets of the client library: how one is opened, and why it ended. */
import { GatewayError } from "@svc/sdk";
import type { Statement } from "@svc/sdk/storage";
import type { BinaryNode, GroupMetadata, proto, WAMessage, WASocket } from "@whiskeysockets/baileys";
import type { Keys } from "./keys.ts";
import { type Library, SILENT } from "./library.ts";
import type { Settings } from "./settings.ts";

/** Name of the gateway in the list of linked devices. */
const DEVICE = ["svc gateway", "Chrome", "1"] as const;
/** Milliseconds of a request. */
const QUERY_MS = 30_000;

/** A number that is not linked any more is told once: a new attempt would be refused, too. */
const LOGGED_OUT = new Set([401, 411, 419]);
const BLOCKED = 403;
const OUTDATED = 405;
const REPLACED = 440;
export const RESTART = 515;

export interface SocketOptions {
  readonly library: Library;
  readonly keys: Keys;
  readonly settings: Pick<Settings, "webUrl" | "pingMs" | "showOnline">;
  /** The statement that stores a decrypted message before WhatsApp reads that it arrived. Absent: nothing is stored. */
  readonly storing?: (message: WAMessage) => Statement;
  /** A sent message, which the phone of a recipient could not decrypt. */
  readonly sent?: (id: string) => Promise<proto.IMessage | undefined>;
  readonly groupOf?: (jid: string) => GroupMetadata | undefined;
}

export interface Socket {
  readonly client: WASocket;
  /** Resolves when WhatsApp has accepted the login. Never rejects. */
  readonly opened: Promise<void>;
  /** Resolves with the status code of the end. Never rejects. */
  readonly ended: Promise<number>;
  /** Ends the connection without waiting for the network. */
  end(): void;
}

export function openSocket({ library, keys, settings, storing, sent, groupOf }: SocketOptions): Socket {
  const { makeWASocket, DEFAULT_CONNECTION_CONFIG, isJidBroadcast, isJidNewsletter } = library;
  const nodes = new WeakMap<Uint8Array, BinaryNode>();

  /** Decrypts, and stores the message together with what its decryption changed in the keys. */
  async function decrypted(ciphertext: Uint8Array, decrypt: () => Promise<Uint8Array>): Promise<Uint8Array> {
    return keys.held(async () => {
      const plain = await decrypt();
      const node = nodes.get(ciphertext);
      const message = storing && node ? messageOf(node, plain, keys, library) : undefined;
      await keys.save(message && storing ? [storing(message)] : []);
      return plain;
    });
  }

  const client = makeWASocket({
    auth: keys.auth,
    logger: SILENT,
    waWebSocketUrl: settings.webUrl,
    browser: [...DEVICE],
    keepAliveIntervalMs: settings.pingMs,
    defaultQueryTimeoutMs: QUERY_MS,
    markOnlineOnConnect: settings.showOnline,
    emitOwnEvents: false,
    syncFullHistory: false,
    shouldSyncHistoryMessage: () => false,
    shouldIgnoreJid: (jid) => isJidBroadcast(jid) === true || isJidNewsletter(jid) === true,
    getMessage: async ({ id }) => (id ? sent?.(id) : undefined),
    cachedGroupMetadata: async (jid) => groupOf?.(jid),
    makeSignalRepository(...given) {
      const repository = DEFAULT_CONNECTION_CONFIG.makeSignalRepository(...given);
      return {
        ...repository,
        decryptMessage: (one) => decrypted(one.ciphertext, () => repository.decryptMessage(one)),
        decryptGroupMessage: (one) => decrypted(one.msg, () => repository.decryptGroupMessage(one)),
      };
    },
  });
  client.ws.prependListener("CB:message", (node: BinaryNode) => {
    for (const { content } of Array.isArray(node.content) ? node.content : [])
      if (content instanceof Uint8Array) nodes.set(content, node);
  });

  let hasOpened = () => {};
  let hasEnded = (_code: number) => {};
  const opened = new Promise<void>((resolve) => (hasOpened = resolve));
  const ended = new Promise<number>((resolve) => (hasEnded = resolve));
  client.ev.on("connection.update", ({ connection, lastDisconnect }) => {
    if (connection === "open") hasOpened();
    if (connection !== "close") return;
    hasEnded(statusOf(lastDisconnect?.error));
    // Requests that wait, and those that the library still begins, would keep their timers for half a minute.
    const error = new Error("the connection has ended");
    client.ws.emit("error", error);
    client.ws.on("newListener", (event, listener: (error: Error) => void) => event === "error" && listener(error));
  });
  return {
    client,
    opened,
    ended,
    end() {
      const { socket } = client.ws as unknown as { readonly socket: { terminate(): void } | null }; // not in its types
      void client.end(undefined);
      socket?.terminate();
    },
  };
}

/** `undefined`: only a key for later messages. */
function messageOf(
  node: BinaryNode,
  plain: Uint8Array,
  { auth: { creds } }: Keys,
  { decodeMessageNode, cleanMessage, proto: types, unpadRandomMax16 }: Library,
): WAMessage | undefined {
  const { id = "", lid = "" } = creds.me ?? {};
  const decoded = types.Message.decode(unpadRandomMax16(plain));
  const message = decoded.deviceSentMessage?.message ?? decoded;
  const { senderKeyDistributionMessage: _key, messageContextInfo: _context, ...content } = message;
  if (Object.keys(content).length === 0) return undefined;
  const whole: WAMessage = { ...decodeMessageNode(node, id, lid).fullMessage, message };
  cleanMessage(whole, id, lid);
  return whole;
}

function statusOf(error: unknown): number {
  const { output } = Object(error) as { readonly output?: { readonly statusCode?: number } }; // errors of the library
  return output?.statusCode ?? 500;
}

/** Whether the number is not linked any more. */
export const isLoggedOut = (status: number): boolean => LOGGED_OUT.has(status);

/** Why a connection ended, for people. */
export function endError(status: number, accountId: string): GatewayError {
  const again = `svc channels login whatsapp${accountId === "default" ? "" : ` --account ${accountId}`}`;
  if (isLoggedOut(status))
    return new GatewayError("NOT_LINKED", `the number is not linked with the gateway any more; next: ${again}`);
  if (status === BLOCKED)
    return new GatewayError("NOT_LINKED", "WhatsApp has blocked the number; next: open WhatsApp on the phone");
  if (status === REPLACED)
    return new GatewayError(
      "NOT_LINKED",
      `another program uses the login of this number; next: stop it, then svc plugins reload whatsapp-web`,
    );
  if (status === OUTDATED)
    return new GatewayError("UNAVAILABLE", "WhatsApp refuses this version; next: update the plugin whatsapp-web");
  return new GatewayError("UNAVAILABLE", `the connection to WhatsApp ended (${status})`);
}
