/** The configuration section `browser`. Spec: http/config-keys.md `browser.*`. */
import { type Static, Strict, Type } from "@svc/sdk";

const flag = (description: string, byDefault: boolean) => Type.Boolean({ default: byDefault, description });
const hosts = (description: string) =>
  Type.Array(Type.String({ minLength: 1, maxLength: 300 }), { default: [], description });

const cdpUrl = Type.String({
  pattern: "^(https?|wss?)://",
  maxLength: 2_000,
  sensitive: true,
  description: "Address of a browser that already runs, as printed by its option --remote-debugging-port",
});
const color = Type.String({ pattern: "^#?[0-9a-fA-F]{6}$", description: "Color that clients show with the profile" });

/** Name of a profile; also the name of its directory. */
export const ProfileName = Type.String({
  pattern: "^[a-z0-9][a-z0-9-]{0,63}$",
  description: "Name of a profile: lower-case letters, digits and hyphens",
});

/**
 * Switches that would open a way around the guard, or change who controls the browser. Chromium uses the last value of a
 * switch, so these must not be repeated.
 */
const ARGUMENT =
  "^--(?!(no-)?proxy|host-|remote-|user-data-dir|no-sandbox|disable-web-security|disable-setuid-sandbox|enable-quic|origin-to-force-quic|webrtc|force-webrtc|load-extension|headless|disable-features|utility-cmd-prefix|renderer-cmd-prefix|gpu-launcher|browser-subprocess-path)[a-z0-9-]+(=.*)?$";

const Profile = Strict({
  cdpUrl: Type.Optional(cdpUrl),
  cdpPort: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 65_535,
      description: "Port of a browser that already runs on this machine; only with attachOnly",
    }),
  ),
  attachOnly: Type.Optional(Type.Boolean({ description: "Never starts a browser; default: browser.attachOnly" })),
  driver: Type.Optional(
    Type.String({
      maxLength: 40,
      description: "extension is not supported; with any other value the gateway controls the browser",
    }),
  ),
  color: Type.Optional(color),
});

const SsrfPolicy = Strict(
  {
    allowPrivateNetwork: flag("Pages may use private addresses: this machine and its networks", false),
    dangerouslyAllowPrivateNetwork: flag("The same as allowPrivateNetwork", false),
    allowedHostnames: hosts("Exact host names that pages may use although their addresses are private"),
    hostnameAllowlist: hosts("The only hosts that pages may use: names, or *.name for all names below; empty: all"),
  },
  { default: {}, description: "Addresses that pages may use" },
);

/** Section `browser`. */
export const BrowserConfig = Strict(
  {
    enabled: flag("false: no browser, and no tool browser", true),
    evaluateEnabled: flag(
      "Scripts of agents and operators may run in pages: act with kind evaluate, and wait with fn",
      false,
    ),
    executablePath: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 1_000,
        description: "Chromium program; default: the usual names and places",
      }),
    ),
    headless: Type.Optional(
      Type.Boolean({ description: "No window; default: true on a Linux machine without a display" }),
    ),
    noSandbox: flag("Starts Chromium without its sandbox; required if the gateway runs as root", false),
    extraArgs: Type.Array(Type.String({ pattern: ARGUMENT, maxLength: 1_000 }), {
      default: [],
      maxItems: 50,
      description: "Further switches of Chromium, except those that lead around the guard of addresses",
    }),
    attachOnly: flag("Never starts a browser: uses cdpUrl or a profile with cdpUrl or cdpPort", false),
    cdpUrl: Type.Optional(cdpUrl),
    remoteCdpTimeoutMs: Type.Integer({
      minimum: 0,
      default: 1_500,
      description: "Milliseconds for the HTTP check of a running browser; 0: no check",
    }),
    remoteCdpHandshakeTimeoutMs: Type.Integer({
      minimum: 0,
      default: 3_000,
      description: "Milliseconds to connect to a running browser; 0: no limit",
    }),
    defaultProfile: Type.Optional(ProfileName),
    color: Type.Optional(color),
    profiles: Type.Record(Type.String(), Profile, {
      default: {},
      propertyNames: ProfileName,
      description: "Settings of profiles by name",
    }),
    snapshotDefaults: Strict(
      {
        mode: Type.Optional(
          Type.Enum(["efficient"], { description: "efficient: snapshots list interactive elements only" }),
        ),
      },
      { default: {}, description: "Defaults of snapshots" },
    ),
    ssrfPolicy: SsrfPolicy,
    idleMinutes: Type.Number({
      minimum: 0,
      maximum: 1_440,
      default: 10,
      description: "Minutes without a call after which a browser is stopped; 0: never",
    }),
  },
  { title: "Browser", description: "A browser for agents and operators" },
);

export type BrowserConfig = Static<typeof BrowserConfig>;
export type ProfileConfig = Static<typeof Profile>;
