/** Browsers start on use, end with their owner, and cost one tab when a page crashes. */
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { chmod, mkdtemp, readdir, rm, stat, writeFile } from "node:fs/promises";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { pathToFileURL } from "node:url";
import { createFakeClock } from "@svc/sdk/testing";
import { root } from "../../checkout.ts";
import { until } from "../../until.ts";
import { freePort } from "../../free-port.ts";
import { type Loose, NO_CHROMIUM, scene, systemClock } from "./scene.ts";

/** Ids of the processes of a profile directory; `kind`: those of one type, e.g. renderer. */
function processesOf(stateDir: string, kind?: string): number[] {
  const { stdout } = spawnSync("pgrep", ["-f", `user-data-dir=${stateDir}`], { encoding: "utf8" });
  const main = stdout.split("\n").filter(Boolean).map(Number);
  if (kind === undefined) return main;
  const { stdout: typed } = spawnSync("pgrep", ["-f", `type=${kind} .*${stateDir}`], { encoding: "utf8" });
  return typed.split("\n").filter(Boolean).map(Number);
}

/** Time that a process has computed. */
function ticksOf(pid: number): number {
  const [, , , , , , , , , , , user = "0"] = readFileSync(`/proc/${pid}/stat`, "utf8")
    .replace(/\(.*\)/, "x")
    .split(" ")
    .slice(2);
  return Number(user);
}

async function stateOf(t: TestContext): Promise<string> {
  const stateDir = await mkdtemp(join(tmpdir(), "svc-browser-"));
  t.after(() => rm(stateDir, { recursive: true, force: true, maxRetries: 10 }));
  return stateDir;
}

describe("a browser", { skip: NO_CHROMIUM }, () => {
  it("starts on use, in a private directory, and stops on request", async (t) => {
    const { ask, stateDir } = await scene(t);
    assert.equal((await ask("GET", "/"))["running"], false);
    assert.deepEqual(await ask("GET", "/tabs"), { running: false, tabs: [] });
    assert.deepEqual(await readdir(stateDir), [], "looking starts nothing");
    const started = await ask("POST", "/start");
    assert.deepEqual(
      [started["running"], started["isRemote"], started["headless"], started["noSandbox"]],
      [true, false, true, true],
    );
    assert.match(String(started["version"]), /^\d+\./);
    assert.equal((await stat(join(stateDir, "profiles/default"))).mode & 0o777, 0o700);
    assert.equal((await ask("POST", "/stop"))["stopped"], true);
    assert.equal((await ask("POST", "/stop"))["stopped"], false);
    assert.deepEqual(processesOf(stateDir), []);
  });

  it("has one process for each profile; calls at the same time start one", async (t) => {
    const { ask, refuses, stateDir, logs } = await scene(
      t,
      { "x.test/": "<p>x" },
      { config: { profiles: { work: { color: "#00AA00" } } } },
    );
    await Promise.all([ask("POST", "/start"), ask("POST", "/start"), ask("GET", "/snapshot")]);
    assert.equal(logs.filter((text) => text === "a browser was started").length, 1);
    await ask("POST", "/profiles/create", { name: "private" });
    await refuses(ask("POST", "/profiles/create", { name: "private" }), "INVALID_REQUEST", /exists/);
    await refuses(ask("POST", "/profiles/create", { name: "../x" }), "INVALID_REQUEST", /name/);
    await ask("POST", "/tabs/open", { url: "http://x.test/", profile: "private" });
    await ask("POST", "/cookies/set", {
      cookie: { name: "c", value: "1", url: "http://x.test/", expires: 4_000_000_000 },
      profile: "private",
    });
    assert.deepEqual((await ask("GET", "/cookies"))["cookies"], [], "profiles share no cookies");
    const { profiles } = (await ask("GET", "/profiles")) as Loose;
    assert.deepEqual(profiles, [
      { name: "default", isDefault: true, isRemote: false, running: true, tabs: 1 },
      { name: "private", isDefault: false, isRemote: false, running: true, tabs: 2 },
      { name: "work", isDefault: false, isRemote: false, running: false, tabs: 0, color: "#00AA00" },
    ]);
    await ask("POST", "/stop", { profile: "private" });
    assert.deepEqual(
      ((await ask("GET", "/cookies", { profile: "private" }))["cookies"] as Loose[]).length,
      1,
      "cookies outlast the process",
    );
    await ask("POST", "/reset-profile", { profile: "private" });
    assert.deepEqual((await ask("GET", "/cookies", { profile: "private" }))["cookies"], []);
    await ask("DELETE", "/profiles/private");
    assert.deepEqual(await readdir(join(stateDir, "profiles")), ["default"]);
    await refuses(ask("DELETE", "/profiles/private"), "NOT_FOUND", /no profile/);
    await refuses(ask("DELETE", "/profiles/work"), "INVALID_REQUEST", /remove browser\.profiles\.work/);
    await refuses(ask("DELETE", "/profiles/default"), "INVALID_REQUEST", /reset-profile/);
  });

  it("that starts while the plugin stops is stopped as well", async (t) => {
    const { ask, refuses, control, stateDir } = await scene(t);
    const started = ask("POST", "/start");
    await until(() => processesOf(stateDir).length > 0);
    await control.stop();
    await started;
    assert.deepEqual(processesOf(stateDir), []);
    await refuses(ask("POST", "/start"), "UNAVAILABLE", /was stopped/);
  });

  it("has 50 tabs at most; a further one closes the least recently used one", async (t) => {
    const { ask, refuses } = await scene(t);
    const { targetId: first } = await ask("POST", "/tabs/open");
    const { targetId: second } = await ask("POST", "/tabs/open", {}, { owner: "agent:main:old" });
    for (let n = 3; n < 50; n++) await ask("POST", "/tabs/open", {}, { owner: `agent:main:${n}` });
    await ask("POST", "/tabs/focus", { targetId: first });
    await ask("POST", "/tabs/open", {}, { owner: "agent:main:new" });
    await ask("POST", "/tabs/open", {}, { owner: "agent:main:new" });
    assert.equal(((await ask("GET", "/tabs"))["tabs"] as Loose[]).length, 50);
    await refuses(ask("POST", "/tabs/focus", { targetId: second }), "NOT_FOUND", /no tab/);
    await ask("POST", "/tabs/focus", { targetId: first });
  });

  it("loses one tab when a page crashes", async (t) => {
    const { ask, refuses, run, stateDir } = await scene(t, { "one.test/": "<p>one", "two.test/": "<p>two" });
    const { targetId: one } = await ask("POST", "/tabs/open", { url: "http://one.test/" });
    const { targetId: two } = await ask("POST", "/tabs/open", { url: "http://two.test/" });
    // The process of the page is the one that is busy with its endless loop.
    await refuses(
      ask("POST", "/act", { kind: "evaluate", fn: "() => { for (;;); }", timeoutMs: 100 }),
      "UNAVAILABLE",
      /did not finish/,
    );
    const before = new Map(processesOf(stateDir, "renderer").map((pid) => [pid, ticksOf(pid)]));
    const spent = (pid: number) => ticksOf(pid) - (before.get(pid) ?? 0);
    let busiest = 0;
    await until(() => {
      const [first = assert.fail(), next] = [...before.keys()].toSorted((one, other) => spent(other) - spent(one));
      busiest = first;
      // A process that is still starting computes, too, but not for so long.
      return spent(first) > 100 && (next === undefined || spent(next) < spent(first) / 4);
    });
    process.kill(busiest, "SIGKILL");
    await until(async () => ((await ask("GET", "/tabs"))["tabs"] as Loose[]).some(({ crashed }) => crashed === true));
    const tabs = (await ask("GET", "/tabs"))["tabs"] as Loose[];
    assert.equal(tabs.find(({ targetId }) => targetId === two).crashed, true);
    await refuses(ask("GET", "/snapshot", { targetId: two }), "UNAVAILABLE", /page of tab t\d+ crashed; close the tab/);
    assert.deepEqual(
      ((await ask("GET", "/errors", { targetId: two }))["errors"] as Loose[]).map(({ message }) => message),
      ["the page crashed"],
    );
    await ask("POST", "/tabs/focus", { targetId: one });
    assert.equal(await run("document.body.textContent"), "one");
    await ask("DELETE", `/tabs/${String(two)}`);
    await ask("POST", "/tabs/open", { url: "http://two.test/" });
  });

  it("that crashed starts again at the next call", async (t) => {
    const { ask, stateDir, logs, run } = await scene(t, { "x.test/": "<p>again" });
    await ask("POST", "/tabs/open", { url: "http://x.test/" });
    for (const pid of processesOf(stateDir)) {
      try {
        process.kill(pid, "SIGKILL");
      } catch {
        // it ended with another one
      }
    }
    await until(() => logs.includes("a browser ended; the next call starts it again"));
    await ask("POST", "/tabs/open", { url: "http://x.test/" });
    assert.equal(await run("document.body.textContent"), "again");
  });

  it("that hangs after its start is started once more; one with pages is left to the caller", async (t) => {
    const short = new Set<number>();
    // The limits of a page and of the end; each is short once.
    const setTimeout: typeof systemClock.setTimeout = (work, ms) =>
      systemClock.setTimeout(work, short.delete(ms) ? 500 : ms);
    const { ask, refuses, stateDir, logs, run } = await scene(
      t,
      { "x.test/": "<p>again" },
      { clock: { ...systemClock, setTimeout } },
    );
    const hang = () => {
      for (const pid of processesOf(stateDir)) process.kill(pid, "SIGSTOP");
    };
    await ask("POST", "/start");
    hang();
    short.add(20_000).add(5_000);
    await ask("POST", "/tabs/open", { url: "http://x.test/" });
    assert.equal(await run("document.body.textContent"), "again");
    assert.equal(logs.filter((text) => text.includes("did not answer after its start")).length, 1);
    hang();
    short.add(20_000);
    await refuses(
      ask("POST", "/tabs/open", { url: "http://x.test/" }),
      "UNAVAILABLE",
      /"default" does not answer; stop it/,
    );
    await refuses(ask("DELETE", "/tabs/t2"), "UNAVAILABLE", /tab t2 does not close: its page hangs; stop the browser/);
    short.add(5_000);
    assert.equal((await ask("POST", "/stop"))["stopped"], true);
    await until(() => processesOf(stateDir).length === 0);
  });

  it("stops when nobody uses it", async (t) => {
    const fake = createFakeClock();
    // Deadlines use the real time; the idle time is that of the fake clock.
    const clock = {
      ...systemClock,
      setTimeout: (work: () => void, ms: number) => (ms === 600_000 ? fake : systemClock).setTimeout(work, ms),
    };
    const { ask, stateDir } = await scene(t, {}, { clock });
    await ask("POST", "/start");
    await fake.advance(599_000);
    await ask("GET", "/snapshot");
    await fake.advance(599_000);
    assert.equal((await ask("GET", "/"))["running"], true, "the call started the time anew");
    await fake.advance(600_001);
    await until(() => processesOf(stateDir).length === 0);
    assert.equal((await ask("GET", "/"))["running"], false);
  });

  it("goes on without a limit if idleMinutes is 0", async (t) => {
    const waits: number[] = [];
    const setTimeout: typeof systemClock.setTimeout = (work, ms) => (waits.push(ms), systemClock.setTimeout(work, ms));
    const clock = { ...systemClock, setTimeout };
    const { ask } = await scene(t, {}, { clock, config: { idleMinutes: 0 } });
    await ask("POST", "/start");
    assert.ok(waits.every((ms) => ms <= 60_000));
  });

  it("does not outlive a gateway that was killed, and its profile can be used again", async (t) => {
    const stateDir = await stateOf(t);
    const module = (path: string) => JSON.stringify(pathToFileURL(join(root, ".build", path)).href);
    const program = `
      const { createControl } = await import(${module("plugins/browser/control.js")});
      const { BrowserConfig } = await import(${module("plugins/browser/config.js")});
      const { withDefaults } = await import("@svc/sdk");
      const clock = { now: Date.now, elapsed: () => performance.now(), setTimeout: (w, ms) => { const t = setTimeout(w, ms); return () => clearTimeout(t); }, setInterval: () => () => {} };
      const control = createControl({ config: withDefaults(BrowserConfig, { noSandbox: true, headless: true }), stateDir: ${JSON.stringify(stateDir)}, clock, log: { info() {}, warn() {} } });
      await control.call({ method: "POST", path: "/start", query: {}, body: {}, caller: {}, signal: new AbortController().signal });
      console.log("started");
      setInterval(() => {}, 1000);`;
    const child = spawn(process.execPath, ["--input-type=module", "-e", program], {
      cwd: root,
      stdio: ["ignore", "pipe", "inherit"],
    });
    t.after(() => child.kill("SIGKILL"));
    await new Promise((resolve) => child.stdout.once("data", resolve));
    assert.ok(processesOf(stateDir).length > 0);
    child.kill("SIGKILL");
    await until(() => processesOf(stateDir).length === 0);
    const { ask } = await scene(t, {}, { stateDir });
    await ask("POST", "/start");
  });

  it("that runs elsewhere is used and not ended", async (t) => {
    const directory = await stateOf(t);
    const port = await freePort();
    const args = [
      `--remote-debugging-port=${port}`,
      `--user-data-dir=${directory}/remote`,
      "--headless",
      "--no-sandbox",
      "--disable-gpu",
      "about:blank",
    ];
    const child = spawn("chromium", args, { stdio: ["ignore", "ignore", "pipe"] });
    t.after(() => child.kill("SIGKILL"));
    await new Promise<void>((resolve) =>
      child.stderr.on("data", (text) => String(text).includes("DevTools listening") && resolve()),
    );
    await until(async () => {
      const targets = (await (await fetch(`http://127.0.0.1:${port}/json/list`)).json()) as Loose[];
      return targets.some(({ type, url }) => type === "page" && url === "about:blank");
    });
    const config = {
      remoteCdpHandshakeTimeoutMs: 30_000,
      profiles: { far: { cdpUrl: `http://127.0.0.1:${port}` }, near: { attachOnly: true, cdpPort: port } },
    };
    const { ask, refuses } = await scene(t, {}, { config });
    const { isRemote } = await ask("POST", "/start", { profile: "far" });
    assert.equal(isRemote, true);
    await refuses(
      ask("POST", "/tabs/open", { url: "http://127.0.0.1/", profile: "far" }),
      "INVALID_REQUEST",
      /not a public address/,
    );
    await ask("POST", "/tabs/open", { profile: "far" }, { owner: "one" });
    assert.equal(((await ask("GET", "/tabs", { profile: "far" }, { owner: "one" }))["tabs"] as Loose[]).length, 1);
    await ask("POST", "/stop", { profile: "far" });
    await ask("POST", "/start", { profile: "near" });
    assert.equal(child.exitCode, null);
  });
});

describe("a browser that cannot start", () => {
  const missing: [why: string, config: object, message: RegExp][] = [
    [
      "the program is missing",
      { executablePath: "/nowhere/chromium" },
      /browser\.executablePath is no program: \/nowhere\/chromium/,
    ],
    ["the path is relative", { executablePath: "chromium" }, /absolute path/],
    ["only running browsers are allowed", { attachOnly: true }, /set cdpUrl or cdpPort/],
    ["the driver is an extension", { profiles: { default: { driver: "extension" } } }, /extension is not supported/],
    [
      "nobody listens",
      { cdpUrl: "http://127.0.0.1:9/?token=secret", remoteCdpTimeoutMs: 900 },
      /no browser answers at 127\.0\.0\.1:9 within 900 ms/,
    ],
    [
      "nobody listens to the socket",
      { cdpUrl: "ws://127.0.0.1:9/devtools" },
      /the browser at 127\.0\.0\.1:9 refuses control/,
    ],
  ];
  for (const [why, config, message] of missing) {
    it(`says so if ${why}`, async (t) => {
      const { ask, refuses } = await scene(t, {}, { config });
      await refuses(ask("POST", "/start"), "UNAVAILABLE", message);
      await assert.rejects(ask("POST", "/start"), (error: Error) => !error.message.includes("secret"));
    });
  }

  it("says what a program reports that is no browser", async (t) => {
    const stateDir = await stateOf(t);
    const file = join(stateDir, "fake");
    await writeFile(file, "#!/bin/sh\necho broken >&2\nexit 3\n");
    await chmod(file, 0o755);
    const { ask, refuses } = await scene(t, {}, { stateDir, config: { executablePath: file } });
    await refuses(ask("POST", "/start"), "UNAVAILABLE", /Chromium does not start .*fake/);
  });

  it(
    "says which key a user root needs",
    { skip: process.getuid?.() === 0 ? NO_CHROMIUM : "runs as another user" },
    async (t) => {
      const { ask, refuses } = await scene(t, {}, { config: { noSandbox: false } });
      await refuses(ask("POST", "/start"), "UNAVAILABLE", /as root.*svc config set browser\.noSandbox true/);
    },
  );

  it("says what an address answers that is no browser", async (t) => {
    const server = createServer((_, response) => response.writeHead(404).end());
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    t.after(() => server.close());
    const { port } = server.address() as AddressInfo;
    const { ask, refuses } = await scene(t, {}, { config: { cdpUrl: `http://127.0.0.1:${port}` } });
    await refuses(ask("POST", "/start"), "UNAVAILABLE", /answers 404; correct cdpUrl/);
  });
});
