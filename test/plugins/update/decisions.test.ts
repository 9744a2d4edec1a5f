import assert from "node:assert/strict";
import { mkdirSync, readFileSync, renameSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { createFakeClock } from "@svc/sdk/testing";
import { programEnvironment, secretValues, withoutSecrets } from "../../../plugins/update/install/environment.ts";
import { swapAll } from "../../../plugins/update/install/swap.ts";
import { faultOf } from "../../../plugins/update/install/trial.ts";
import type { Answer } from "../../../plugins/update/newest.ts";
import { noteOf, updateLines } from "../../../plugins/update/report.ts";
import type { UpdateSettings } from "../../../plugins/update/settings.ts";
import { createSeenFile, type Seen, type SeenFile } from "../../../plugins/update/seen.ts";
import { createWatch, dueIn, FIRST_LOOK_MS, intervalOf } from "../../../plugins/update/watch.ts";
import { directory, put } from "../../directory.ts";

const HOUR = 3_600_000;

describe("the environment and output of programs", () => {
  it("contains only what they need", () => {
    const env = {
      PATH: "/bin",
      HOME: "/home/a",
      SVC_GATEWAY_TOKEN: "t",
      NODE_OPTIONS: "-r x",
      npm_config_registry: "r",
      npm_config_ignore_scripts: "false",
      GIT_DIR: "/x",
    };
    const names = Object.keys(programEnvironment(env)).sort().join(" ");
    assert.equal(names, "GIT_OPTIONAL_LOCKS GIT_TERMINAL_PROMPT HOME PATH npm_config_registry");
  });

  const rows: [text: string, shown: string][] = [
    ["https://me:pass@registry.example/x", "https://***@registry.example/x"],
    ["//registry.example/:_authToken=npm_abcdefghijkl", "//registry.example/:_authToken=***"],
    ["Authorization: Bearer abc.def", "Authorization: Bearer ***"],
    ["used ghp_abcdefghijklmnop here", "used *** here"],
    ["the value hunter2hunter2 of the environment", "the value *** of the environment"],
    ["fatal: could not read from remote", "fatal: could not read from remote"],
  ];
  for (const [text, shown] of rows) {
    it(`hides credentials: ${shown}`, () => {
      assert.equal(withoutSecrets(text, secretValues({ MY_TOKEN: "hunter2hunter2", SHORT_KEY: "abc" })), shown);
    });
  }
});

describe("a swap", () => {
  it("is all or nothing", (t) => {
    const place = directory(t);
    for (const name of ["a", "b"]) {
      put(join(place, "old", name), `old ${name}`);
      put(join(place, "new", name), `new ${name}`);
    }
    mkdirSync(join(place, "aside"));
    const exchange = (name: string) => ({ fresh: join(place, "new", name), place: join(place, "old", name) });
    const exchanges = ["a", "b", "c"].map(exchange);
    assert.throws(() => swapAll(exchanges, join(place, "aside")), { code: "ENOENT" }, "there is no new c");
    const read = (...parts: string[]) => readFileSync(join(place, ...parts), "utf8");
    assert.deepEqual([read("old/a"), read("old/b"), read("new/a")], ["old a", "old b", "new a"]);
    swapAll(exchanges.slice(0, 2), join(place, "aside"));
    assert.deepEqual([read("old/a"), read("old/b"), read("aside/0")], ["new a", "new b", "old a"]);
  });

  it("reports where the former files are if they cannot be restored", (t) => {
    const place = directory(t);
    put(join(place, "old"), "old");
    mkdirSync(join(place, "aside"));
    let calls = 0;
    const rename = (from: string, to: string) => {
      calls += 1;
      if (calls > 1) throw new Error("the disk is gone");
      renameSync(from, to);
    };
    const exchanges = [{ fresh: join(place, "new"), place: join(place, "old") }];
    assert.throws(
      () => swapAll(exchanges, join(place, "aside"), { rename }),
      /not everything could be restored; the former files are in /,
    );
  });
});

describe("a trial", () => {
  it("accepts waiting plugins, and refuses broken ones", () => {
    const ready = (state: string) =>
      `${JSON.stringify({ ready: true, plugins: [{ id: "x", state, reason: "why" }] })}\nmore`;
    assert.equal(faultOf(ready("blocked")), undefined);
    assert.equal(faultOf(ready("failed")), "plugin x is failed: why");
    assert.equal(faultOf("hello"), "its output is not JSON");
  });
});

describe("the report of an update", () => {
  const report = {
    status: "skipped",
    mode: "git",
    root: "/r",
    reason: "dirty",
    before: { sha: "0123456789", version: "1.0.0" },
    steps: [],
    durationMs: 5,
  } as const;
  const byHand = ["cd /r", "git stash"];
  const update = { report: { ...report, steps: [] }, why: "1 tracked file has changes", byHand };

  it("has the reason and the steps by hand", () => {
    const lines = ["Not updated: 1 tracked file has changes.", "By hand:", "  cd /r", "  git stash"];
    assert.deepEqual(updateLines(update), lines);
    const failed = { ...update, report: { ...update.report, status: "error" as const } };
    assert.match(updateLines(failed)[0] ?? "", /^The update failed; 1\.0\.0 \(0123456\) keeps running: /);
  });

  it("is stored for after the restart in the documented form", () => {
    const step = { name: "fetch", command: "git fetch", cwd: "/r", durationMs: 3, exitCode: 0, stdoutTail: "x" };
    const note = noteOf({ ...update, report: { ...report, steps: [step] } }, { note: "now", sessionKey: "main" }, 7);
    const { stdoutTail, exitCode, ...rest } = step;
    const stats = {
      mode: "git",
      root: "/r",
      before: { sha: "0123456789", version: "1.0.0" },
      after: null,
      steps: [{ ...rest, log: { stdoutTail, stderrTail: null, exitCode } }],
      reason: "dirty",
      durationMs: 5,
    };
    assert.deepEqual(note, {
      kind: "update",
      status: "skipped",
      ts: 7,
      sessionKey: "main",
      message: "now\n\nNot updated: 1 tracked file has changes.\nBy hand:\n  cd /r\n  git stash",
      doctorHint: "Run: svc doctor",
      stats,
    });
  });
});

describe("the check for a newer version", () => {
  const createSeen = (): SeenFile => {
    let kept: Seen | undefined;
    return { read: async () => kept, write: async (seen: Seen) => void (kept = seen) };
  };
  const stable: UpdateSettings = { channel: "stable", checkOnStart: true };
  const found = { currentVersion: "1.0.0", latestVersion: "1.1.0", channel: "stable" };

  function scene(settings: UpdateSettings, seen = createSeen(), clock = createFakeClock()) {
    const log: string[] = [];
    let answer: Answer | Error = { mode: "npm", available: null };
    const note = (_fields: object, message: string) => void log.push(message);
    const watch = createWatch({
      settings,
      clock,
      log: { debug: note, info() {}, warn: note, error: () => assert.fail() },
      jitter: 0.5,
      seen,
      ask: async () => {
        log.push("asked");
        if (answer instanceof Error) throw answer;
        return answer;
      },
      changed: (available) => void log.push(available?.latestVersion ?? "none"),
      install: async () => void log.push("installed"),
    });
    const stop = watch.begin();
    return { clock, log, watch, stop, says: (next: Answer | Error) => (answer = next) };
  }

  it("begins after the start, repeats once a day, and publishes changes", async () => {
    const { clock, log, watch, stop, says } = scene(stable);
    await clock.advance(FIRST_LOOK_MS - 1);
    assert.deepEqual(log, []);
    await clock.advance(1);
    assert.deepEqual([log, watch.available], [["asked"], null]);
    says({ mode: "npm", available: found });
    await clock.advance(24 * HOUR);
    assert.deepEqual([log.slice(1), watch.available], [["asked", "1.1.0"], found]);
    await clock.advance(24 * HOUR);
    assert.deepEqual(log.slice(3), ["asked"], "the same is no news");
    says({ mode: "npm", available: null, reason: "offline" });
    await clock.advance(24 * HOUR);
    assert.deepEqual(log.slice(4), ["asked", "the newest version is unknown"]);
    assert.deepEqual(watch.available, found);
    stop();
    stop();
    assert.equal(clock.pending, 0);
  });

  it("runs only on request with checkOnStart: false, at most once a minute", async () => {
    const { clock, log, watch } = scene({ ...stable, checkOnStart: false });
    await clock.advance(48 * HOUR);
    assert.deepEqual([log, watch.checkedAt], [[], null]);
    await Promise.all([watch.look(), watch.look()]);
    assert.deepEqual([log, watch.checkedAt], [["asked"], clock.now()]);
    await clock.advance(60_000);
    await watch.look();
    assert.equal(log.length, 2);
  });

  it("installs on its own only with auto.enabled, a stable version after stableDelayHours and stableJitterHours", async () => {
    const auto = { enabled: true, stableDelayHours: 2, stableJitterHours: 2 };
    const { clock, log, says } = scene({ ...stable, auto });
    says({ mode: "npm", available: found });
    await clock.advance(FIRST_LOOK_MS + 3 * HOUR - 1);
    assert.ok(!log.includes("installed"));
    await clock.advance(1);
    assert.ok(log.includes("installed"));
    assert.equal(dueIn(stable, 1_000 * HOUR, 0), undefined);
    assert.equal(dueIn({ ...stable, auto: { enabled: true } }, 0, 0), 24 * HOUR);
  });

  it("counts the delay across restarts, from when the version was first seen", async (t) => {
    const auto = { enabled: true, stableDelayHours: 10, stableJitterHours: 0 };
    const place = directory(t);
    const seen = createSeenFile(() => place);
    assert.equal(await seen.read(), undefined);
    const start = (now: number) => {
      const begun = scene({ ...stable, auto }, seen, createFakeClock(now));
      begun.says({ mode: "npm", available: found });
      return begun;
    };
    const passUntil = async ({ clock, log }: ReturnType<typeof start>, ms: number, entry: string) => {
      await clock.advance(ms);
      for (let turn = 0; turn < 500 && !log.includes(entry); turn += 1) await pause(2);
    };
    const noon = Date.UTC(2026, 0, 1, 12);
    const first = start(noon);
    await passUntil(first, FIRST_LOOK_MS, "1.1.0");
    for (let turn = 0; turn < 500 && !(await seen.read()); turn += 1) await pause(2);
    first.stop();
    assert.deepEqual(await seen.read(), { version: "1.1.0", since: noon + FIRST_LOOK_MS });
    const second = start(noon + 9 * HOUR);
    await passUntil(second, FIRST_LOOK_MS, "1.1.0");
    second.stop();
    assert.ok(!second.log.includes("installed"), "an hour is left");
    const third = start(noon + 10 * HOUR);
    await passUntil(third, FIRST_LOOK_MS, "installed");
    third.stop();
    assert.ok(third.log.includes("installed"));
    const behind = start(noon - HOUR);
    await passUntil(behind, FIRST_LOOK_MS, "1.1.0");
    behind.stop();
    assert.ok(!behind.log.includes("installed"), "a clock that was ahead counts for nothing");
  });

  it("continues after a failed check, and does not cache failures", async () => {
    const { clock, log, watch, says, stop } = scene(stable);
    says(new Error("Cannot find module newest.js"));
    await clock.advance(FIRST_LOOK_MS);
    assert.deepEqual(log, ["asked", "the check for a newer version failed"]);
    assert.equal((await watch.look()).reason, "Cannot find module newest.js");
    says({ mode: "npm", available: found });
    assert.deepEqual(await watch.look(), { mode: "npm", available: found });
    log.length = 0;
    await clock.advance(24 * HOUR);
    assert.deepEqual(log, ["asked"]);
    stop();
  });

  it("runs every betaCheckIntervalHours on the channel beta, and installs at once", () => {
    const auto = { enabled: true, betaCheckIntervalHours: 3 };
    const beta: UpdateSettings = { ...stable, channel: "beta", auto };
    assert.deepEqual([intervalOf({ ...stable, auto }), intervalOf(beta)], [24 * HOUR, 3 * HOUR]);
    assert.equal(dueIn(beta, 0, 1), 0);
  });
});
