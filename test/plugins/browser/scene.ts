/** A browser control over the real Chromium, on a small internet of local servers. */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type RequestListener, type Server } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { type Clock, withDefaults } from "@svc/sdk";
import { connectSocket } from "@svc/kit/net";
import { BrowserConfig } from "../../../plugins/browser/config.ts";
import { type Control, type ControlCall, createControl } from "../../../plugins/browser/control.ts";
import { listen, PUBLIC } from "../outbound/scene.ts";
import { without } from "../../programs.ts";

export const NO_CHROMIUM = without("chromium");

export const systemClock: Clock = {
  now: () => Date.now(),
  elapsed: () => performance.now(),
  setTimeout(callback, ms) {
    const timer = setTimeout(callback, ms);
    return () => clearTimeout(timer);
  },
  setInterval(callback, ms) {
    const timer = setInterval(callback, ms);
    return () => clearInterval(timer);
  },
};

type Pages = Readonly<Record<string, string | RequestListener>>;

/** Serves pages by `host/path`; others are 404. */
export function site(pages: Pages): RequestListener {
  return (request, response) => {
    const page = pages[`${request.headers.host ?? ""}${request.url ?? ""}`];
    if (typeof page === "function") return page(request, response);
    if (page === undefined) return void response.writeHead(404).end();
    return void response.setHeader("content-type", "text/html; charset=utf-8").end(page);
  };
}

export interface SceneOptions {
  readonly config?: object;
  readonly clock?: Clock;
  readonly stateDir?: string;
  /** Addresses of names. Default: one public address. */
  readonly names?: Readonly<Record<string, readonly string[]>>;
  readonly server?: Server;
}

export type Ask = (
  method: ControlCall["method"],
  path: string,
  keys?: object,
  caller?: ControlCall["caller"],
) => Promise<Record<string, unknown>>;

/** Facts of tests need no types. */
// eslint-disable-next-line @typescript-eslint/no-explicit-any
export type Loose = any;

export async function scene(t: TestContext, pages: Pages = {}, options: SceneOptions = {}) {
  const { config = {}, clock = systemClock, names = {}, server = createServer(site(pages)) } = options;
  const stateDir = options.stateDir ?? (await mkdtemp(join(tmpdir(), "svc-browser-")));
  const port = await listen(t, server);
  const dials: string[] = [];
  const logs: string[] = [];
  const log = {
    info: (_: object, text: string) => void logs.push(text),
    warn: (_: object, text: string) => void logs.push(text),
  };
  const control: Control = createControl({
    config: withDefaults(BrowserConfig, { noSandbox: true, headless: true, evaluateEnabled: true, ...config }),
    stateDir,
    clock,
    log,
    resolve: async (host) => names[host] ?? [PUBLIC],
    connect(address, asked, signal) {
      dials.push(`${address}:${asked}`);
      return connectSocket("127.0.0.1", port, signal);
    },
  });
  t.after(async () => {
    await control.stop();
    if (options.stateDir === undefined) await rm(stateDir, { recursive: true, force: true, maxRetries: 10 });
  });
  const ask: Ask = async (method, path, keys = {}, caller = {}) => {
    // The first call starts Chromium, which takes long on a busy machine.
    const body = path === "/tabs/open" ? { timeoutMs: 90_000, ...keys } : keys;
    const parts = method === "POST" ? { query: {}, body } : { query: keys as Record<string, unknown>, body: undefined };
    const signal = new AbortController().signal;
    return (await control.call({ method, path, ...parts, caller, signal })) as Record<string, unknown>;
  };
  const refuses = (call: Promise<unknown>, code: string, message: RegExp) =>
    assert.rejects(call, (error: Error & { code?: string }) => {
      assert.equal(error.code, code, error.message);
      assert.match(error.message, message);
      return true;
    });
  /** Evaluates in the current page. */
  const run = async (fn: string) => (await ask("POST", "/act", { kind: "evaluate", fn }))["result"] as Loose;
  return { control, ask, refuses, run, stateDir, dials, logs, port };
}
