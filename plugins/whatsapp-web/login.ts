/** Login: links the gateway as a device of a number, by a QR code or a pairing code. Logout and probe. */
import { AnySignal } from "@svc/kit/time";
import { type Clock, invalidRequest, matches, Type, unavailable, untilAborted } from "@svc/sdk";
import type { ChannelCall, ChannelLoginSteps, LoginStep, LogoutReceipt } from "@svc/sdk/channels";
import { createKeys, type Keys } from "./keys.ts";
import type { Library } from "./library.ts";
import { type Live, ownOf } from "./run.ts";
import type { Settings } from "./settings.ts";
import { openSocket, type Socket } from "./socket.ts";
import type { Store } from "./store.ts";

/** Milliseconds of an unfinished login; WhatsApp ends it earlier. */
const LOGIN_MS = 300_000;
/** Milliseconds for which WhatsApp accepts the first QR code, and each later one. */
const FIRST_CODE_MS = 60_000;
const CODE_MS = 20_000;
const PAIRING_MS = 180_000;
/** Milliseconds for which the network is told of a logout. */
const LOGOUT_MS = 10_000;

const WHERE = "In WhatsApp on the phone: Settings > Linked devices > Link a device";
const State = Type.Object({ id: Type.Integer() });

/** What a login shows now. */
type News =
  | { readonly kind: "qr"; readonly qr: string; readonly isFirst: boolean }
  | { readonly kind: "linked" }
  | { readonly kind: "ended"; readonly status: number };

interface Pending {
  readonly id: number;
  readonly socket: Socket;
  readonly keys: Keys;
  /** The person uses the number, too. */
  readonly isOwn: boolean;
  /** Resolves with what comes after the last news. */
  next: Promise<News>;
}

export interface LoginContext {
  readonly clock: Clock;
  readonly library: Library;
  readonly store: Store;
  readonly live: ReadonlyMap<string, Live>;
}

type ConnectionSettings = Pick<Settings, "webUrl" | "pingMs" | "showOnline">;
/** For an account that the channel does not list yet. */
const USUAL: ConnectionSettings = { webUrl: "wss://web.whatsapp.com/ws/chat", pingMs: 30_000, showOnline: false };

export interface Logins {
  readonly steps: ChannelLoginSteps;
  /** Ends the logins that wait for somebody. */
  stop(): void;
}

export function createLogins(context: () => Promise<LoginContext>): Logins {
  const pending = new Map<string, Pending>();
  let counter = 0;

  function end(accountId: string): void {
    pending.get(accountId)?.socket.end();
    pending.delete(accountId);
  }

  /** Opens a socket that asks WhatsApp to link a new device. */
  async function begin(accountId: string, settings: ConnectionSettings, isOwn: boolean): Promise<Pending> {
    const { library, clock } = await context();
    end(accountId);
    const keys = createKeys(library, new Map(), async () => undefined);
    const socket = openSocket({ library, keys, settings });
    let tell = (_news: News) => {};
    const wait = () => new Promise<News>((resolve) => (tell = resolve));
    const begun: Pending = { id: (counter += 1), socket, keys, isOwn, next: wait() };
    let isFirst = true;
    let isLinked = false;
    const news = (one: News) => {
      const told = tell;
      begun.next = wait();
      told(one);
    };
    socket.client.ev.on("connection.update", ({ qr, isNewLogin }) => {
      if (isNewLogin) isLinked = true; // the connection ends when WhatsApp has stored the device
      if (qr === undefined) return;
      news({ kind: "qr", qr, isFirst });
      isFirst = false;
    });
    const late = clock.setTimeout(() => socket.end(), LOGIN_MS);
    void socket.ended.then((status) => {
      late();
      news(isLinked ? { kind: "linked" } : { kind: "ended", status });
    });
    pending.set(accountId, begun);
    return begun;
  }

  const show = ({ qr, isFirst }: Extract<News, { kind: "qr" }>, { id }: Pending): LoginStep => ({
    kind: "show",
    message: `${WHERE}, and scan this code.`,
    qr,
    expiresInMs: isFirst ? FIRST_CODE_MS : CODE_MS,
    state: { id },
  });

  async function pair({ id, socket }: Pending, phone: string): Promise<LoginStep> {
    const code = await socket.client.requestPairingCode(phone);
    const shown = `${code.slice(0, 4)}-${code.slice(4)}`;
    const message = `${WHERE} > Link with phone number instead, and enter the code ${shown}`;
    return { kind: "show", message, expiresInMs: PAIRING_MS, state: { id } };
  }

  async function linked(accountId: string, { keys, isOwn }: Pending): Promise<LoginStep> {
    const { store } = await context();
    pending.delete(accountId);
    const [number = ""] = ownOf(keys);
    await store.replaceKeys(accountId, keys);
    const config = { transport: "web", number, ...(isOwn ? { selfChat: true } : {}) };
    return { kind: "done", message: `The gateway is linked with +${number}.`, config };
  }

  async function next(accountId: string, begun: Pending, phone: string, isShown: boolean, signal: AbortSignal) {
    let asked = isShown;
    for (;;) {
      const news = await untilAborted(begun.next, signal);
      if (news.kind === "linked") return linked(accountId, begun);
      if (news.kind === "ended") {
        end(accountId);
        return unavailable(`nobody linked the gateway in time (${news.status}); next: begin the login again`);
      }
      if (phone === "" && !isPairing(begun)) return show(news, begun);
      if (!asked) return pair(begun, phone);
      asked = true;
    }
  }

  /** A pairing code was asked for: QR codes that still arrive are not shown. */
  const isPairing = ({ keys }: Pending) => keys.auth.creds.pairingCode !== undefined;

  return {
    stop() {
      for (const accountId of pending.keys()) end(accountId);
    },
    steps: {
      start: () => ({
        kind: "form",
        message: "Link the gateway with a number, as a further device.",
        fields: [
          {
            key: "phone",
            label: "Phone number",
            help: "as +4915112345678, to link with a code; leave it empty to scan a QR code",
            optional: true,
          },
          {
            key: "selfChat",
            label: "Is it your own number?",
            help: "yes: the agent reads only what you write to yourself; leave it empty if the number belongs to the agent",
            optional: true,
          },
        ],
      }),

      async next({ accountId, settings, state, answers, signal }) {
        const { live } = await context();
        const connected = live.get(accountId);
        if (connected)
          invalidRequest(`the account is linked with +${ownOf(connected.keys)[0]}; next: svc channels logout whatsapp`);
        const phone = (answers["phone"] ?? "").replace(/\D/g, "");
        if (answers["phone"] && !/^[1-9]\d{6,14}$/.test(phone))
          invalidRequest("the phone number is not valid; next: write it with its country code, as +4915112345678");
        const known = pending.get(accountId);
        const isShown = matches(State, state);
        if (isShown && state.id !== known?.id) invalidRequest("this login has ended; next: begin it again");
        const isOwn = isYes(answers["selfChat"]?.trim() ?? "");
        const given = (settings as Settings | undefined) ?? USUAL; // read by the plugin whatsapp
        const begun = isShown && known ? known : await begin(accountId, given, isOwn);
        try {
          return await next(accountId, begun, phone, isShown, signal);
        } catch (error) {
          if (signal.aborted) end(accountId);
          throw error;
        }
      },
    },
  };
}

function isYes(answer: string): boolean {
  if (/^(?:yes|y|true)$/i.test(answer)) return true;
  return /^(?:no|n|false)?$/i.test(answer)
    ? false
    : invalidRequest(`"${answer}" is neither yes nor no; next: answer yes or no`);
}

/** Unlinks the gateway, and deletes the keys also if WhatsApp cannot be told. */
export async function logout(
  { accountId, settings, signal }: ChannelCall<Settings>,
  { clock, library, store }: LoginContext,
): Promise<LogoutReceipt> {
  const keys = await store.keys(accountId);
  const loggedOut = keys.auth.creds.me !== undefined && (await unlinked());
  return { cleared: await store.deleteKeys(accountId), loggedOut };

  async function unlinked(): Promise<boolean> {
    const socket = openSocket({ library, keys, settings });
    const inTime = new AnySignal(signal);
    const cancel = clock.setTimeout(() => inTime.abort(), LOGOUT_MS);
    const ended = socket.ended.then(() => false);
    try {
      const isOpen = await untilAborted(Promise.race([socket.opened.then(() => true), ended]), inTime.signal);
      if (isOpen) await untilAborted(socket.client.logout(), inTime.signal);
      return isOpen;
    } catch {
      return false; // the phone shows the device until it is removed there
    } finally {
      cancel();
      inTime.release();
      socket.end();
    }
  }
}

/** The number, and its name. @throws GatewayError `UNAVAILABLE` */
export function probe({ accountId }: ChannelCall<Settings>, { live }: Pick<LoginContext, "live">): object {
  const account = live.get(accountId) ?? unavailable("the account is not connected to WhatsApp now");
  const { name } = account.keys.auth.creds.me ?? {};
  return { ok: true, number: `+${ownOf(account.keys)[0]}`, ...(name ? { name } : {}) };
}
