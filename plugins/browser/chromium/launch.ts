/** Starts Chromium behind the guard, or connects to a browser that runs already. */
import { messageOf, unavailable } from "@svc/sdk";
import { mkdir, readlink } from "node:fs/promises";
import { join } from "node:path";
import type { BrowserContext } from "playwright-core";
import type { BrowserConfig, ProfileConfig } from "../config.ts";
import type { Guard } from "../guard/proxy.ts";
import { findChromium } from "./find.ts";
import { library } from "./library.ts";

/** Time in ms for Chromium to start. */
const LAUNCH_MS = 30_000;

/** Switches in addition to those of the library: less traffic of its own, and no way around the proxy. */
const SWITCHES = [
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-domain-reliability",
  "--disable-sync",
  "--disable-quic",
  "--no-pings",
  "--no-first-run",
  "--no-default-browser-check",
  "--webrtc-ip-handling-policy=disable_non_proxied_udp",
  "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
  // Chromium resolves no name itself; the proxy does.
  "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
];

/** Chromium's own environment: none of the gateway's secrets. */
const VARIABLES = [
  "PATH",
  "LANG",
  "LC_ALL",
  "TZ",
  "DISPLAY",
  "WAYLAND_DISPLAY",
  "XAUTHORITY",
  "XDG_RUNTIME_DIR",
  "SYSTEMROOT",
];

/** Runs in each page before its own scripts. */
const NO_OWN_SOCKETS = `for (const name of ["RTCPeerConnection", "webkitRTCPeerConnection", "WebTransport"])
  Object.defineProperty(globalThis, name, { value: undefined, configurable: false, writable: false });`;

/** A browser under control. */
export interface Opened {
  readonly context: BrowserContext;
  /** A browser of somebody else: it is disconnected, not ended. */
  readonly isRemote: boolean;
  close(): Promise<void>;
  /** Ends a browser that no longer answers. A remote one is only left. */
  kill(): Promise<void>;
}

export interface LaunchPlace {
  /** User data directory. */
  readonly directory: string;
  /** Receives downloads while they arrive. */
  readonly incoming: string;
}

/** Whether Chromium runs without a window. Choice: without a display on Linux there is no other way. */
export function isHeadless({ headless }: BrowserConfig): boolean {
  if (headless !== undefined) return headless;
  return process.platform === "linux" && !process.env["DISPLAY"] && !process.env["WAYLAND_DISPLAY"];
}

/** @throws GatewayError `UNAVAILABLE` with the reason and the next step */
export async function launch(config: BrowserConfig, guard: Guard, place: LaunchPlace): Promise<Opened> {
  const executablePath = await findChromium(config.executablePath);
  if (process.getuid?.() === 0 && !config.noSandbox)
    unavailable(
      "the gateway runs as root, where Chromium has no sandbox; run it as another user, or accept the risk: svc config set browser.noSandbox true",
    );
  for (const path of [place.directory, place.incoming]) await mkdir(path, { recursive: true, mode: 0o700 });
  const { chromium } = await library();
  const env = VARIABLES.flatMap((name) => (process.env[name] === undefined ? [] : [[name, process.env[name]]]));
  const { port, username, password } = guard;
  const context = await chromium
    .launchPersistentContext(place.directory, {
      executablePath,
      headless: isHeadless(config),
      chromiumSandbox: !config.noSandbox,
      args: [...config.extraArgs, ...SWITCHES],
      env: { ...Object.fromEntries(env), HOME: place.directory },
      // The bypass rule takes loopback off Chromium's implicit list of addresses without a proxy.
      proxy: { server: `http://127.0.0.1:${port}`, username, password, bypass: "<-loopback>" },
      serviceWorkers: "block",
      acceptDownloads: true,
      downloadsPath: place.incoming,
      tracesDir: join(place.incoming, "traces"), // apart: the files of `incoming` itself count as downloads
      timeout: LAUNCH_MS,
      viewport: { width: 1_280, height: 800 },
      handleSIGHUP: false,
      handleSIGINT: false,
      handleSIGTERM: false,
    })
    .catch((cause: unknown) =>
      unavailable(`Chromium does not start (${executablePath}): ${firstLine(messageOf(cause))}`, { cause }),
    );
  // WebRTC has its own sockets. Without its constructors a page cannot use them, whatever the switches above do.
  await context.addInitScript({ content: NO_OWN_SOCKETS });
  return { context, isRemote: false, close: () => context.close(), kill: () => killOwnerOf(place.directory) };
}

/** Chromium notes its process in the user data directory: the target of the link ends in `-<pid>`. */
async function killOwnerOf(directory: string): Promise<void> {
  const lock = await readlink(join(directory, "SingletonLock")).catch(() => "");
  const pid = Number(/-(\d+)$/.exec(lock)?.[1]);
  if (!(pid > 1)) return;
  // Its renderers and helpers are of its group; the library starts it as the leader of one.
  for (const target of [-pid, pid]) {
    try {
      process.kill(target, "SIGKILL");
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
    }
  }
}

/** @throws GatewayError `UNAVAILABLE`; the address is not part of the error, because it may contain a credential */
export async function attach(url: string, config: BrowserConfig): Promise<Opened> {
  const { remoteCdpTimeoutMs, remoteCdpHandshakeTimeoutMs } = config;
  const { host, protocol } = new URL(url);
  if (protocol.startsWith("http") && remoteCdpTimeoutMs > 0) {
    const address = new URL(url);
    address.pathname = `${address.pathname.replace(/\/$/, "")}/json/version`;
    const signal = AbortSignal.timeout(remoteCdpTimeoutMs);
    const reply = await fetch(address, { signal, redirect: "error" }).catch((cause: unknown) =>
      unavailable(`no browser answers at ${host} within ${remoteCdpTimeoutMs} ms; start it, or correct cdpUrl`, {
        cause,
      }),
    );
    await reply.body?.cancel();
    if (!reply.ok) unavailable(`${host} answers ${reply.status}; correct cdpUrl`);
  }
  const { chromium } = await library();
  const browser = await chromium
    .connectOverCDP(url, { timeout: remoteCdpHandshakeTimeoutMs })
    .catch((cause: unknown) => unavailable(`the browser at ${host} refuses control; check cdpUrl`, { cause }));
  const context = browser.contexts()[0] ?? (await browser.newContext({ serviceWorkers: "block" }));
  return { context, isRemote: true, close: () => browser.close(), kill: async () => undefined };
}

/**
 * Address of the running browser that a profile uses; `undefined`: the gateway starts one.
 * @throws GatewayError `UNAVAILABLE` if the profile has no usable setting
 */
export function addressOf(config: BrowserConfig, profile: ProfileConfig, isDefault: boolean): string | undefined {
  if (profile.driver === "extension")
    unavailable("the driver extension is not supported; remove it, so that the gateway starts the browser");
  const url = profile.cdpUrl ?? (isDefault ? config.cdpUrl : undefined);
  if (url !== undefined) return url;
  if (!(profile.attachOnly ?? config.attachOnly)) return undefined;
  if (profile.cdpPort !== undefined) return `http://127.0.0.1:${profile.cdpPort}`;
  return unavailable("attachOnly is set, but there is no browser to use; set cdpUrl or cdpPort of the profile");
}

function firstLine(text: string): string {
  return text.split("\n", 1)[0]?.slice(0, 300) ?? "";
}
