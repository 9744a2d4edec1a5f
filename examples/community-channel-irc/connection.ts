/** One connection to a server from start to end. The only file that uses the network. */
import { type Clock, GatewayError, type Logger, pause, unavailable } from "@svc/sdk";
import type { ChannelRun, InboundMessage } from "@svc/sdk/channels";
import type { Client } from "irc-framework";
import type { Settings } from "./config.ts";
import { fold } from "./names.ts";
import { Pace } from "./pace.ts";
import { refusalIn, toInbound, toLines } from "./translate.ts";

/** Milliseconds to wait for the registration, and for the confirmation of a text. */
const REGISTER_MS = 30_000;
const CONFIRM_MS = 30_000;
/** Milliseconds to wait for the server to close the connection after QUIT. */
const FAREWELL_MS = 1_000;
/** Number of alternative nicks to try if the wanted one is taken. */
const NICK_TRIES = 3;
/** Maximum messages waiting for the gateway; further ones are dropped and logged. */
const MAX_WAITING = 500;
/** Number of attempts to submit a message to the gateway. */
const RECEIVE_TRIES = 5;

/** What a connection uses of a run. */
type Run = Omit<ChannelRun<Settings>, "openState">;

interface ConnectionContext {
  readonly clock: Pick<Clock, "elapsed" | "setTimeout">;
  readonly log: Logger;
}

/** A text that the server has not confirmed yet. */
interface Unconfirmed {
  readonly target: string;
  refusal?: string;
  readonly confirmed: () => void;
}

export class IrcConnection {
  readonly #run: Run;
  readonly #around: ConnectionContext;
  readonly #client: Client;
  readonly #pace: Pace;
  /** Fulfilled or rejected when the connection is closed. */
  readonly #gone: Promise<void>;
  #end: (error?: Error) => void = () => undefined;
  #isRegistered = false;
  #isOver = false;
  #lastError: string | undefined;
  #nickTries = 0;
  #inbox: Promise<void> = Promise.resolve();
  #waiting = 0;
  /** Unconfirmed texts by the token of their PING. */
  readonly #unconfirmed = new Map<string, Unconfirmed>();
  #tokens = 0;
  /** Settles when the previous text is sent, so that texts are sent one at a time. */
  #saying: Promise<unknown> = Promise.resolve();

  constructor(client: Client, run: Run, around: ConnectionContext) {
    const { burstLines: burst, lineIntervalMs: intervalMs } = run.settings;
    this.#client = client;
    this.#run = run;
    this.#around = around;
    this.#pace = new Pace({ burst, intervalMs, clock: around.clock });
    this.#gone = new Promise((resolve, reject) => {
      this.#end = (error) => {
        this.#isOver = true;
        if (error) reject(error);
        else resolve();
      };
    });
    this.#listen();
  }

  /**
   * Resolves when the signal has aborted and the connection is closed.
   * @throws Error with the reason if it ended earlier
   */
  async live(): Promise<void> {
    const { settings, signal, report } = this.#run;
    const { host, port, tls, tlsVerify, nick, username, realname, password, sasl } = settings;
    if (signal.aborted) return;
    report({ state: "connecting" });
    const cancel = this.#around.clock.setTimeout(() => {
      if (!this.#isRegistered)
        this.#close(new Error(`the server did not complete the registration within ${REGISTER_MS / 1_000} seconds`));
    }, REGISTER_MS);
    const stop = () => this.#farewell();
    signal.addEventListener("abort", stop, { once: true });
    this.#client.connect({
      host,
      port,
      tls,
      rejectUnauthorized: tlsVerify,
      nick,
      username,
      gecos: realname,
      account: sasl ?? {}, // if empty, the password is the server password
      auto_reconnect: false, // the gateway runs the account again, with back-off
      version: "",
      ping_interval: 30,
      ping_timeout: 120,
      ...(password === undefined ? {} : { password }),
    });
    try {
      await this.#gone;
    } finally {
      cancel();
      signal.removeEventListener("abort", stop);
      for (const { confirmed } of this.#unconfirmed.values()) confirmed();
    }
  }

  /**
   * Resolves when the server has confirmed the whole text.
   * @throws GatewayError `UNAVAILABLE`; `INVALID_REQUEST` if the server refused it
   */
  say(to: string, text: string, signal: AbortSignal): Promise<void> {
    const said = this.#saying.catch(() => undefined).then(() => this.#say(to, toLines(text), signal));
    this.#saying = said;
    return said;
  }

  async #say(to: string, lines: readonly string[], signal: AbortSignal): Promise<void> {
    const target = fold(to);
    const token = `svc${++this.#tokens}`;
    const { clock } = this.#around;
    let confirmed: () => void = () => undefined;
    const confirmation = new Promise<"confirmed">((resolve) => (confirmed = () => resolve("confirmed")));
    const text: Unconfirmed = { target, confirmed };
    this.#unconfirmed.set(token, text);
    let cancel: () => void = () => undefined;
    try {
      for (const line of lines) {
        await this.#pace.turn(signal);
        this.#write("PRIVMSG", to, line);
      }
      this.#write("PING", token);
      const late = new Promise<"late">((resolve) => {
        cancel = clock.setTimeout(() => resolve("late"), CONFIRM_MS);
        signal.addEventListener("abort", () => resolve("late"), { once: true });
      });
      const outcome = await Promise.race([confirmation, late]);
      if (text.refusal !== undefined)
        throw new GatewayError("INVALID_REQUEST", `the server refused ${to}: ${text.refusal}`);
      if (outcome === "late" || this.#isOver) unavailable("the server has not confirmed the message");
    } finally {
      cancel();
      this.#unconfirmed.delete(token);
    }
  }

  /** @throws GatewayError `UNAVAILABLE` */
  #write(command: string, ...words: readonly string[]): void {
    if (!this.#isRegistered || this.#isOver || !this.#client.connected) unavailable("not connected to the IRC server");
    this.#client.raw(command, ...words);
  }

  #listen(): void {
    const client = this.#client;
    client.on("registered", ({ nick }) => this.#registered(nick));
    client.on("privmsg", (event) => this.#received(toInbound(event, client.user.nick)));
    client.on("pong", ({ message }) => {
      this.#run.alive();
      this.#unconfirmed.get(message ?? "")?.confirmed();
    });
    client.on("raw", ({ line, from_server: fromServer }) => {
      const refusal = fromServer && this.#unconfirmed.size > 0 ? refusalIn(line) : undefined;
      for (const text of this.#unconfirmed.values()) if (text.target === refusal?.target) text.refusal = refusal.reason;
    });
    client.on("nick in use", ({ nick }) => this.#nickTaken(nick));
    client.on("nick invalid", ({ nick }) => this.#needsLogin(`the server rejects the nick "${nick}"`));
    client.on("sasl failed", ({ reason, message = reason }) =>
      this.#needsLogin(`the login to the services failed: ${message}`),
    );
    client.on("irc error", ({ error, reason = error }) => this.#refused(error, reason));
    client.on("socket close", (error) => {
      if (error) this.#lastError ??= error.message; // an earlier message of the server is more specific
    });
    client.on("close", () => this.#closed());
    // An invalid line must only end this connection and not affect other code.
    const { command_handler: handler } = client;
    const dispatch = handler.dispatch.bind(handler);
    handler.dispatch = (message) => {
      try {
        dispatch(message);
      } catch (error) {
        this.#close(new Error(`the server sent an invalid line: ${String(error)}`));
      }
    };
  }

  #registered(nick: string): void {
    this.#isRegistered = true;
    for (const { name, key } of this.#run.settings.channels) this.#client.join(name, key);
    this.#run.report({ state: "connected", detail: `as ${nick}` });
  }

  #received(message: InboundMessage | undefined): void {
    if (!message) return;
    if (this.#waiting >= MAX_WAITING)
      return this.#around.log.warn({ chat: message.chat.id }, "too many IRC messages are waiting; dropping one");
    this.#waiting += 1;
    this.#inbox = this.#inbox.then(() => this.#deliver(message)).finally(() => (this.#waiting -= 1));
  }

  /** IRC never repeats a message, so a message that was not accepted is retried for a while. Never rejects. */
  async #deliver(message: InboundMessage): Promise<void> {
    const { log, clock } = this.#around;
    const { signal } = this.#run;
    for (let tries = 1; ; tries++) {
      try {
        const receipt = await this.#run.receive(message);
        if (!receipt.accepted)
          log.debug({ reason: receipt.reason, chat: message.chat.id }, "an IRC message was not accepted");
        return;
      } catch (error) {
        if (tries === RECEIVE_TRIES || this.#isOver || signal.aborted)
          return log.warn({ err: error }, "an IRC message was dropped: the gateway did not accept it");
        await pause(1_000 * tries, clock, signal);
      }
    }
  }

  #refused(error: string, reason: string): void {
    // Some servers only report it when they close.
    const isPassword = error === "password_mismatch" || (error === "irc" && /password/i.test(reason));
    if (isPassword && !this.#isRegistered) return this.#needsLogin(`the server refused the password: ${reason}`);
    if (error === "irc") this.#lastError = reason;
    else if (!this.#isRegistered) this.#run.report({ state: "connecting", detail: reason });
  }

  #nickTaken(nick: string): void {
    if (this.#isRegistered) return;
    if (this.#nickTries === NICK_TRIES)
      return this.#close(new Error(`the nick "${nick}" and its alternatives are taken`));
    this.#nickTries += 1;
    const next = `${this.#run.settings.nick}${"_".repeat(this.#nickTries)}`;
    this.#run.report({ state: "connecting", detail: `the nick "${nick}" is taken; trying "${next}"` });
    this.#client.changeNick(next);
  }

  #needsLogin(detail: string): void {
    this.#run.report({ state: "needs-login", detail });
    this.#close(new Error(detail));
  }

  #farewell(): void {
    if (this.#isOver) return;
    this.#client.quit("bye");
    this.#around.clock.setTimeout(() => this.#end(), FAREWELL_MS);
  }

  #close(error: Error): void {
    if (this.#isOver) return;
    this.#client.quit("bye");
    this.#end(error);
  }

  #closed(): void {
    if (this.#run.signal.aborted) return this.#end();
    this.#end(new Error(this.#lastError ?? "the server closed the connection"));
  }
}

/** The library is imported for the first connection. */
export async function connect(run: Run, around: ConnectionContext): Promise<IrcConnection> {
  const { default: library } = await import("irc-framework");
  return new IrcConnection(new library.Client(), run, around);
}
