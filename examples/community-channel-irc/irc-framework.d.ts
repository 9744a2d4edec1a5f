/** Types of the used part of the library, which has none. */
declare module "irc-framework" {
  interface Who {
    readonly nick: string;
    readonly ident: string;
    readonly hostname: string;
  }

  /** A message to a person or a channel. `account`: services account, if the server reports it. */
  interface PrivateMessage extends Partial<Who> {
    readonly from_server: boolean;
    readonly target: string;
    readonly message: string;
    readonly time?: number;
    readonly account?: string;
    readonly tags?: Readonly<Record<string, string>>;
    readonly batch?: { readonly type?: string };
  }

  interface Events {
    registered: (event: { readonly nick: string }) => void;
    privmsg: (event: PrivateMessage) => void;
    "nick in use": (event: { readonly nick: string }) => void;
    "nick invalid": (event: { readonly nick: string }) => void;
    "sasl failed": (event: { readonly reason: string; readonly message?: string }) => void;
    "irc error": (event: { readonly error: string; readonly reason?: string }) => void;
    pong: (event: { readonly message?: string }) => void;
    raw: (event: { readonly line: string; readonly from_server: boolean }) => void;
    "socket close": (error: Error | false | undefined) => void;
    close: () => void;
  }

  interface Options {
    readonly host: string;
    readonly port: number;
    readonly tls: boolean;
    readonly rejectUnauthorized: boolean;
    readonly nick: string;
    readonly username: string;
    readonly gecos: string;
    readonly password?: string;
    readonly account: { readonly account?: string; readonly password?: string };
    readonly auto_reconnect: boolean;
    /** Reply to CTCP VERSION; empty: none. */
    readonly version: string;
    /** Seconds. */
    readonly ping_interval: number;
    readonly ping_timeout: number;
  }

  class Client {
    readonly user: { readonly nick: string };
    readonly connected: boolean;
    readonly command_handler: { dispatch(message: unknown): void };
    on<E extends keyof Events>(event: E, listener: Events[E]): this;
    connect(options: Options): void;
    /** Sends one command; the last argument may contain blanks. Line breaks are not removed. */
    raw(...words: readonly string[]): void;
    join(channel: string, key?: string): void;
    changeNick(nick: string): void;
    quit(message: string): void;
  }

  const library: { readonly Client: typeof Client };
  export default library;
  export type { Client, PrivateMessage };
}
