/**
 * The configuration sections the host itself owns. Spec: http/auth.md §1, http/config-keys.md; strict: unknown keys are named.
 * Each leaf says how a change of it takes effect: `reload: "hot"` at once, `reload: "restart"` with a restart.
 * No defaults here: an absent key stays absent, and the code that reads it knows what that means.
 * Keys without effect are in `foreign-keys.ts`.
 */
import { NonEmpty, type Static, Strict, type TSchema, Type } from "@svc/sdk";
import { HooksSection } from "./hooks-schema.ts";
import { LOG_LEVELS } from "./log-levels.ts";

type Options = Record<string, unknown>;

const hot = (description: string, more: Options = {}) => ({ description, reload: "hot", ...more });
const restart = (description: string, more: Options = {}) => ({ description, reload: "restart", ...more });

const Texts = (options: Options) => Type.Optional(Type.Array(NonEmpty, options));
const Flag = (options: Options) => Type.Optional(Type.Boolean(options));
const Count = (minimum: number, maximum: number, options: Options) =>
  Type.Optional(Type.Integer({ minimum, maximum, ...options }));
const Entries = <S extends TSchema>(item: S, options: Options) => Type.Optional(Type.Array(item, options));

const DAY_MS = 86_400_000;

/** Name of an HTTP header. */
const HEADER_NAME = "^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,128}$";

const RateLimit = Strict({
  maxAttempts: Count(1, 1_000, hot("Failed attempts within the window that lock an address out. Default 10.")),
  windowMs: Count(1, DAY_MS, hot("Milliseconds of the sliding window. Default 60000.")),
  lockoutMs: Count(1, DAY_MS, hot("Milliseconds an address stays locked out. Default 300000.")),
  exemptLoopback: Flag(hot("Programs of this machine are never locked out; web pages can be. Default true.")),
});

const TrustedProxy = Strict({
  userHeader: Type.String(hot("Header in which the proxy names the user; any case.", { pattern: HEADER_NAME })),
  requiredHeaders: Entries(
    Type.String({ pattern: HEADER_NAME }),
    hot("Headers that must be there and not blank. Default: none."),
  ),
  allowUsers: Texts(hot("Exactly these users, case and all. Empty: everyone the proxy lets through.")),
  secret: Type.Optional(
    Type.String(
      hot(
        "What the proxy sends in the header X-Svc-Proxy-Secret. Needed where an address of this machine is a trusted proxy.",
        { minLength: 16, sensitive: true },
      ),
    ),
  ),
});

const Auth = Strict({
  mode: Type.Optional(
    Type.Enum(
      ["none", "token", "password", "trusted-proxy"],
      hot("How clients prove themselves. Default: password when there is one, else token."),
    ),
  ),
  token: Type.Optional(
    Type.String(hot("Secret of mode token; blank is unset. Default: one is made and kept.", { sensitive: true })),
  ),
  password: Type.Optional(Type.String(hot("Secret of mode password; blank is unset.", { sensitive: true }))),
  rateLimit: Type.Optional(RateLimit),
  trustedProxy: Type.Optional(TrustedProxy),
});

const ControlUi = Strict({
  enabled: Flag(hot("Says that web pages use this gateway; then it does not start where none could.")),
  allowedOrigins: Texts(hot("Pages that may connect: full origins, or *. Pages of this machine always may.")),
  dangerouslyAllowHostHeaderOriginFallback: Flag(
    hot("Also lets pages in whose origin is the Host header of the request. Default false."),
  ),
  allowInsecureAuth: Flag(hot("The panel may connect without a device from this machine over HTTP. Default false.")),
  dangerouslyDisableDeviceAuth: Flag(hot("The panel needs no device anywhere, only the secret. Default false.")),
});

const Reload = Strict({
  mode: Type.Optional(
    Type.Enum(
      ["hybrid", "hot", "restart", "off"],
      hot(
        "What a changed file does: at once where possible, else a restart (hybrid, the default); only that; always a restart; nothing.",
      ),
    ),
  ),
  debounceMs: Count(0, 60_000, hot("Milliseconds the file must rest before it is read. Default 300.")),
});

const FilePath = (description: string) => Type.Optional(Type.String(hot(description, { minLength: 1 })));

const Tls = Strict({
  enabled: Flag(restart("The port speaks TLS: https and wss, and nothing in clear. Default false.")),
  autoGenerate: Flag(
    hot("Without certPath and keyPath a certificate is made and kept below the state directory. Default true."),
  ),
  certPath: FilePath(
    "PEM file of the certificate, with those between it and its root; relative to the configuration file. It is read again when it changes.",
  ),
  keyPath: FilePath("PEM file of its private key, without a passphrase. It is read again when it changes."),
  caPath: FilePath(
    "PEM file of certificates between it and its root, where certPath has only the first. Default: none.",
  ),
});

const SecurityHeaders = Strict({
  strictTransportSecurity: Type.Optional(
    Type.Union(
      [Type.String({ pattern: "^[\\t\\x20-\\x7e]*$", maxLength: 1_000 }), Type.Literal(false)],
      hot(
        "Value of the header Strict-Transport-Security of every HTTP response, e.g. max-age=31536000. False or blank: no such header, the default.",
      ),
    ),
  ),
});

/** What is served over HTTP beside the WebSocket: each endpoint is its plugin's. */
const Http = Strict({
  securityHeaders: Type.Optional(SecurityHeaders),
  endpoints: Type.Optional(Strict({}, { description: "By name; each belongs to the plugin that serves it." })),
});

export const GatewaySection = Strict({
  port: Count(0, 65_535, restart("Default 18789; 0 picks a free port.")),
  bind: Type.Optional(
    Type.Enum(
      ["loopback", "lan", "tailnet", "auto", "custom"],
      restart(
        "Where to listen: this machine (the default), every network, the overlay network, what there is, or customBindHost.",
      ),
    ),
  ),
  customBindHost: Type.Optional(
    Type.String(restart('IPv4 address of this machine, for bind "custom".', { minLength: 1 })),
  ),
  auth: Type.Optional(Auth),
  trustedProxies: Texts(
    hot("Addresses and networks (CIDR) of proxies whose word about clients counts. Default: none."),
  ),
  allowRealIpFallback: Flag(hot("X-Real-IP counts where X-Forwarded-For names no client. Default false.")),
  maxConnectionsPerAddress: Count(
    0,
    1_000_000,
    hot(
      "WebSockets of one address, or of one IPv6 /64 network; of connections of all kinds, twice as many. This machine has no limit. Default 256; 0: no limit.",
    ),
  ),
  controlUi: Type.Optional(ControlUi),
  aliases: Entries(
    Type.String({ pattern: "^(?!svc$)[a-z][a-z0-9-]{1,31}$" }),
    hot("Names that existing clients use instead of svc in client ids, headers and environment variables.", {
      uniqueItems: true,
      maxItems: 16,
    }),
  ),
  compat: Type.Optional(
    Strict({
      chatEventsToAll: Flag(
        hot(
          "What is said in conversations is sent to every connection, whatever its scopes, and to every node. Default false.",
        ),
      ),
    }),
  ),
  reload: Type.Optional(Reload),
  http: Type.Optional(Http),
  tls: Type.Optional(Tls),
});
export type GatewaySection = Static<typeof GatewaySection>;

const PluginEntry = Strict({
  enabled: Flag(hot("False leaves the plugin out. Default true.")),
  run: Type.Optional(
    Type.Enum(
      ["host", "worker", "process"],
      hot(
        "Where its code runs: in the gateway, in a thread or in a process of its own. Default: host for the bundle, else what its package prefers.",
      ),
    ),
  ),
  wake: Type.Optional(
    Type.Enum(
      ["use", "start"],
      hot("When its code is imported: when it is needed (use, the default, where that is possible), or at the start."),
    ),
  ),
  memoryMb: Count(16, 65_536, hot("MiB of heap it may use in a thread or process of its own. Default 256.")),
});

export const PluginsSection = Strict({
  use: Texts(hot("Exactly these plugins: ids, package names or paths. Default: the full bundle.")),
  load: Type.Optional(Strict({ paths: Texts(hot("Plugins to add, by path or package name.")) })),
  entries: Type.Optional(Type.Record(Type.String(), PluginEntry)),
});
export type PluginsSection = Static<typeof PluginsSection>;

const Level = (description: string) => Type.Optional(Type.Enum([...LOG_LEVELS], hot(description)));

const Pattern = Type.String({ minLength: 1, maxLength: 500, format: "regex" });

export const LoggingSection = Strict({
  level: Level(
    "Least level that is logged: in the file, default info, and on standard error, default warn. --log-level and SVC_LOG_LEVEL win.",
  ),
  consoleLevel: Level("The same for standard error alone. Default: that of level."),
  consoleStyle: Type.Optional(
    Type.Enum(
      ["pretty", "compact", "json"],
      hot(
        "Lines on standard error: for people, with all fields or in short, or as in the file. Default: compact on a terminal, else json.",
      ),
    ),
  ),
  file: Type.Optional(
    Type.String(
      hot(
        "File that is written to, below the state directory unless absolute. Default: logs/svc-YYYY-MM-DD.log, one a day.",
        {
          minLength: 1,
          pattern: "[^/]$",
        },
      ),
    ),
  ),
  maxFileBytes: Count(
    1,
    2 ** 40,
    hot("Bytes a file may have; then it gets a number and a new one begins. Default 52428800."),
  ),
  maxTotalBytes: Count(
    1,
    2 ** 40,
    hot("Bytes of all files of the log; the oldest go first, two always stay. Default 524288000."),
  ),
  retentionDays: Count(1, 3_650, hot("Days after its last line a file is kept. Default 7.")),
  redactSensitive: Type.Optional(
    Type.Enum(
      ["off", "tools"],
      hot("Off: texts that only look like a secret are logged; known secrets never are. Default tools."),
    ),
  ),
  redactPatterns: Type.Optional(
    Type.Array(Pattern, hot("Regular expressions of further texts that are not logged.", { maxItems: 50 })),
  ),
});
export type LoggingSection = Static<typeof LoggingSection>;

/** Sections of the host by top-level key. */
export const HOST_SECTIONS = {
  gateway: GatewaySection,
  hooks: HooksSection,
  plugins: PluginsSection,
  logging: LoggingSection,
} as const;

/**
 * Places of the host below which a plugin may own a key that holds an object, as if it stood at the top. By place: keys
 * that nobody has, and what to do instead.
 */
export const OPEN_SECTIONS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  gateway: {},
  "gateway.http.endpoints": {},
  hooks: {},
};

/** Top-level keys that carry no configuration. */
export const FREE_KEYS: readonly string[] = ["$schema", "meta"];

export interface HostConfig {
  readonly gateway: GatewaySection;
  readonly hooks: HooksSection;
  readonly plugins: PluginsSection;
  readonly logging: LoggingSection;
}
