/**
 * The configuration sections of the host. Spec: http/auth.md §1, http/config-keys.md; strict: unknown keys are reported.
 * `reload` states how a change takes effect: `"hot"` immediately, `"restart"` after a restart.
 * The schema sets no defaults: an absent key stays absent, and the code that reads it applies the default.
 * `foreign-keys.ts` lists the keys without effect.
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
  maxAttempts: Count(
    1,
    1_000,
    hot("Failed attempts within the window after which an address is locked out. Default 10."),
  ),
  windowMs: Count(1, DAY_MS, hot("Sliding window in milliseconds. Default 60000.")),
  lockoutMs: Count(1, DAY_MS, hot("Milliseconds an address stays locked out. Default 300000.")),
  exemptLoopback: Flag(
    hot("Never lock out programs on this machine; web pages can still be locked out. Default true."),
  ),
});

const TrustedProxy = Strict({
  userHeader: Type.String(hot("Header in which the proxy names the user; case-insensitive.", { pattern: HEADER_NAME })),
  requiredHeaders: Entries(
    Type.String({ pattern: HEADER_NAME }),
    hot("Headers that must be present and not blank. Default: none."),
  ),
  allowUsers: Texts(hot("Allowed users, case-sensitive. Empty: everyone the proxy accepts.")),
  secret: Type.Optional(
    Type.String(
      hot(
        "Secret that the proxy sends in the header X-Svc-Proxy-Secret. Required if an address of this machine is a trusted proxy.",
        { minLength: 16, sensitive: true },
      ),
    ),
  ),
});

const Auth = Strict({
  mode: Type.Optional(
    Type.Enum(
      ["none", "token", "password", "trusted-proxy"],
      hot("How clients authenticate. Default: password if one is set, else token."),
    ),
  ),
  token: Type.Optional(
    Type.String(
      hot("Secret of mode token; blank counts as unset. Default: generated and stored.", { sensitive: true }),
    ),
  ),
  password: Type.Optional(Type.String(hot("Secret of mode password; blank counts as unset.", { sensitive: true }))),
  rateLimit: Type.Optional(RateLimit),
  trustedProxy: Type.Optional(TrustedProxy),
});

const ControlUi = Strict({
  enabled: Flag(
    hot(
      "False: the gateway serves no control panel. True: it also refuses to start when no page could connect. Default: the panel is served.",
    ),
  ),
  basePath: Type.Optional(
    Type.String(
      hot('Path below which the control panel is served, e.g. /panel. Default "": at /.', { maxLength: 200 }),
    ),
  ),
  root: Type.Optional(
    Type.String(
      hot("Directory with other files of the control panel. Default: the files that come with the plugin.", {
        minLength: 1,
      }),
    ),
  ),
  allowedOrigins: Texts(hot("Origins of pages that may connect, or *. Pages of this machine are always allowed.")),
  dangerouslyAllowHostHeaderOriginFallback: Flag(
    hot("Also allow pages whose origin matches the Host header of the request. Default false."),
  ),
  allowInsecureAuth: Flag(
    hot("Allow the panel to connect without a device from this machine over HTTP. Default false."),
  ),
  dangerouslyDisableDeviceAuth: Flag(
    hot("Allow the panel to connect from anywhere with only the secret, without a device. Default false."),
  ),
});

const Reload = Strict({
  mode: Type.Optional(
    Type.Enum(
      ["hybrid", "hot", "restart", "off"],
      hot(
        "How a changed file is applied: hybrid (default): immediately, with a restart if a key needs one; hot: immediately, but without an automatic restart; restart: always with a restart; off: not until the next restart.",
      ),
    ),
  ),
  debounceMs: Count(0, 60_000, hot("Milliseconds without a change before the file is read. Default 300.")),
});

const FilePath = (description: string) => Type.Optional(Type.String(hot(description, { minLength: 1 })));

const Tls = Strict({
  enabled: Flag(restart("Serve only https and wss, nothing unencrypted. Default false.")),
  autoGenerate: Flag(
    hot("Without certPath and keyPath, generate a certificate and store it below the state directory. Default true."),
  ),
  certPath: FilePath(
    "PEM file of the certificate and its intermediate certificates; relative to the configuration file. Reloaded when it changes.",
  ),
  keyPath: FilePath("PEM file of the private key, without a passphrase. Reloaded when it changes."),
  caPath: FilePath("PEM file of the intermediate certificates, if certPath does not contain them. Default: none."),
});

const SecurityHeaders = Strict({
  strictTransportSecurity: Type.Optional(
    Type.Union(
      [Type.String({ pattern: "^[\\t\\x20-\\x7e]*$", maxLength: 1_000 }), Type.Literal(false)],
      hot(
        "Value of the header Strict-Transport-Security in every HTTP response, e.g. max-age=31536000. False or blank (default): the header is not sent.",
      ),
    ),
  ),
});

/** HTTP settings. Each endpoint belongs to a plugin. */
const Http = Strict({
  securityHeaders: Type.Optional(SecurityHeaders),
  endpoints: Type.Optional(
    Strict({}, { description: "Endpoints by name; each belongs to the plugin that serves it." }),
  ),
});

export const GatewaySection = Strict({
  port: Count(0, 65_535, restart("Port to listen on; 0 picks a free one. Default 18789.")),
  bind: Type.Optional(
    Type.Enum(
      ["loopback", "lan", "tailnet", "auto", "custom"],
      restart(
        "Where to listen: loopback (default): this machine only; lan: all interfaces; tailnet: the overlay network; auto: loopback if available, else all interfaces; custom: customBindHost.",
      ),
    ),
  ),
  customBindHost: Type.Optional(
    Type.String(restart('IPv4 address of this machine, for bind "custom".', { minLength: 1 })),
  ),
  auth: Type.Optional(Auth),
  trustedProxies: Texts(
    hot("Addresses and networks (CIDR) of proxies whose client headers are trusted. Default: none."),
  ),
  allowRealIpFallback: Flag(hot("Use X-Real-IP if X-Forwarded-For names no client. Default false.")),
  maxConnectionsPerAddress: Count(
    0,
    1_000_000,
    hot(
      "Maximum WebSockets per address or IPv6 /64 network; the limit for connections of all kinds is twice as high. Does not apply to this machine. Default 256; 0: no limit.",
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
          "Send conversation events to every connection, regardless of its scopes, and to every node. Default false.",
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
  enabled: Flag(hot("False disables the plugin. Default true.")),
  run: Type.Optional(
    Type.Enum(
      ["host", "worker", "process"],
      hot(
        "Where the plugin runs: in the gateway (host), in its own thread (worker) or in its own process. Default: host for bundled plugins, else the preference of its package.",
      ),
    ),
  ),
  wake: Type.Optional(
    Type.Enum(
      ["use", "start"],
      hot("When its code is imported: on first use (use, the default, if possible), or at the start (start)."),
    ),
  ),
  memoryMb: Count(16, 65_536, hot("Heap limit in MiB of the plugin's own thread or process. Default 256.")),
});

export const PluginsSection = Strict({
  use: Texts(hot("Plugins to load, and no others: ids, package names or paths. Default: the full bundle.")),
  load: Type.Optional(Strict({ paths: Texts(hot("Additional plugins, by path or package name.")) })),
  entries: Type.Optional(Type.Record(Type.String(), PluginEntry)),
});
export type PluginsSection = Static<typeof PluginsSection>;

const Level = (description: string) => Type.Optional(Type.Enum([...LOG_LEVELS], hot(description)));

const Pattern = Type.String({ minLength: 1, maxLength: 500, format: "regex" });

export const LoggingSection = Strict({
  level: Level(
    "Lowest level that is logged. Default: info in the file, warn on stderr. --log-level and SVC_LOG_LEVEL take precedence.",
  ),
  consoleLevel: Level("Lowest level that is logged on stderr. Default: level."),
  consoleStyle: Type.Optional(
    Type.Enum(
      ["pretty", "compact", "json"],
      hot(
        "Format of lines on stderr: pretty: readable, with all fields; compact: readable and short; json: as in the file. Default: compact on a terminal, else json.",
      ),
    ),
  ),
  file: Type.Optional(
    Type.String(
      hot("Log file, relative to the state directory unless absolute. Default: logs/svc-YYYY-MM-DD.log, one per day.", {
        minLength: 1,
        pattern: "[^/]$",
      }),
    ),
  ),
  maxFileBytes: Count(
    1,
    2 ** 40,
    hot("Maximum bytes of a file; a full file is renamed with a number. Default 52428800."),
  ),
  maxTotalBytes: Count(
    1,
    2 ** 40,
    hot("Maximum bytes of all log files; the oldest are deleted first, two always stay. Default 524288000."),
  ),
  retentionDays: Count(1, 3_650, hot("Days a file is kept after its last line. Default 7.")),
  redactSensitive: Type.Optional(
    Type.Enum(
      ["off", "tools"],
      hot("off: log text that only looks like a secret; known secrets are never logged. Default tools."),
    ),
  ),
  redactPatterns: Type.Optional(
    Type.Array(Pattern, hot("Regular expressions of further text to hide in the log.", { maxItems: 50 })),
  ),
});
export type LoggingSection = Static<typeof LoggingSection>;

/** The host's sections by top-level key. */
export const HOST_SECTIONS = {
  gateway: GatewaySection,
  hooks: HooksSection,
  plugins: PluginsSection,
  logging: LoggingSection,
} as const;

/**
 * Places in the host's sections below which a plugin may own a key that holds an object, like a top-level section. The value
 * lists keys that no plugin may own, each with the alternative.
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
