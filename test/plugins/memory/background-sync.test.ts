/** Indexes that are kept up to date between searches. */
import assert from "node:assert/strict";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { GatewayError } from "@svc/sdk";
import type { MemorySearch } from "@svc/sdk/memory";
import { createFakeClock } from "@svc/sdk/testing";
import { createBackgroundSync } from "../../../plugins/memory/background-sync.ts";
import type { SyncReport } from "../../../plugins/memory/engine/protocol.ts";
import type { WatchParts } from "../../../plugins/memory/files/directory-watch.ts";
import { settingsOf } from "../../../plugins/memory/settings.ts";
import { indexesOf } from "./indexes-scene.ts";
import { scene } from "./scene.ts";

const REPORT: SyncReport = {
  files: 1,
  chunks: 1,
  changed: 0,
  removed: 0,
  embedded: 0,
  leftOut: [],
  directories: ["/w", "/w/memory"],
};
const SERVER: MemorySearch = { provider: "ollama" };

/** Agents with a background sync, a fake watch and a fake clock. */
function follow(t: TestContext, settings: Record<string, MemorySearch>) {
  const clock = createFakeClock();
  const synced: string[] = [];
  const watches: (WatchParts & { readonly directories: string[]; isClosed: boolean })[] = [];
  let answer: (agentId: string) => Promise<SyncReport> = async () => REPORT;
  const warned: string[] = [];
  const lost: string[] = [];
  const stop = new AbortController();
  const backgroundSync = createBackgroundSync({
    clock,
    signal: stop.signal,
    exists: (path) => path === "/there",
    log: { warn: (_fields, message) => warned.push(message) },
    indexes: {
      agentIds: () => Object.keys(settings),
      settings: (id) => {
        const given = settings[id];
        if (given === undefined) throw new GatewayError("NOT_FOUND", "gone");
        return settingsOf(given);
      },
      sync(agentId) {
        synced.push(agentId);
        return answer(agentId);
      },
    },
    watch(parts) {
      const watched = { ...parts, directories: [] as string[], isClosed: false };
      watches.push(watched);
      return {
        follow(directories) {
          const isNew = directories.some((one) => !watched.directories.includes(one));
          watched.directories.splice(0, Infinity, ...directories);
          return { isNew, missing: [...lost], failed: [] };
        },
        close: () => void (watched.isClosed = true),
      };
    },
  });
  t.after(() => backgroundSync.stop());
  const taken = () => synced.splice(0, Infinity);
  return {
    backgroundSync,
    clock,
    taken,
    watches,
    lost,
    warned,
    settings,
    reply: (next: typeof answer) => void (answer = next),
  };
}

describe("the files of an agent", () => {
  it("are synced after a change and a pause, and again for new directories", async (t) => {
    const { backgroundSync, clock, taken, watches } = follow(t, { main: SERVER });
    backgroundSync.applySettings();
    await clock.advance(0);
    assert.deepEqual([taken(), watches[0]?.directories], [["main"], ["/w", "/w/memory"]]);
    await clock.advance(1_500);
    assert.deepEqual(taken(), ["main"], "they may have changed before they were watched");
    await clock.advance(10_000);
    assert.deepEqual(taken(), []);
    watches[0]?.changed("/w/memory", "a.md");
    await clock.advance(1_000);
    watches[0]?.changed("/w/memory", undefined);
    await clock.advance(1_000);
    assert.deepEqual(taken(), []);
    await clock.advance(500);
    assert.deepEqual(taken(), ["main"]);
    watches[0]?.changed("/w", "AGENTS.md");
    await clock.advance(5_000);
    assert.deepEqual(taken(), [], "not memory");
    watches[0]?.changed("/w", "MEMORY.md");
    await clock.advance(1_500);
    assert.deepEqual(taken(), ["main"]);
  });

  it("that change during a sync are synced again", async (t) => {
    const { backgroundSync, clock, taken, watches, reply } = follow(t, {
      main: { ...SERVER, sync: { watchDebounceMs: 0 } },
    });
    backgroundSync.applySettings();
    await clock.advance(0);
    taken();
    let release: (() => void) | undefined;
    reply(() => new Promise((resolve) => (release = () => resolve(REPORT))));
    watches[0]?.changed("/w", "memory");
    await clock.advance(0);
    watches[0]?.changed("/w", "memory");
    await clock.advance(10);
    assert.equal(taken().length, 1);
    release?.();
    await clock.advance(0);
    assert.equal(taken().length, 1);
  });

  const wanted: [what: string, settings: MemorySearch, atStart: boolean, afterUse: boolean][] = [
    ["nothing is set up", {}, false, false],
    ["there is a server", SERVER, true, true],
    ["there is a server, and watching is off", { ...SERVER, sync: { watch: false } }, false, false],
    ["searches do not look by themselves", { sync: { onSearch: false } }, false, true],
    ["there is an interval", { sync: { intervalMinutes: 5 } }, true, true],
    ["memory is switched off", { ...SERVER, enabled: false }, false, false],
  ];
  for (const [what, settings, atStart, afterUse] of wanted)
    it(`are followed from the ${atStart ? "start" : afterUse ? "first use" : "never"} on if ${what}`, async (t) => {
      const { backgroundSync, clock, taken } = follow(t, { main: settings });
      backgroundSync.applySettings();
      await clock.advance(0);
      assert.equal(taken().length > 0, atStart);
      backgroundSync.used("main");
      await clock.advance(0);
      assert.equal(atStart || taken().length > 0, afterUse);
    });

  it("are synced periodically, and again if something was left", async (t) => {
    const { backgroundSync, clock, taken, reply } = follow(t, { main: { sync: { intervalMinutes: 2, watch: false } } });
    const minute = async () => {
      await clock.advance(60_000);
      backgroundSync.tick();
      await clock.advance(0);
      return taken().length;
    };
    backgroundSync.applySettings();
    await clock.advance(0);
    taken();
    assert.deepEqual([await minute(), await minute(), await minute(), await minute()], [0, 1, 0, 1]);
    reply(async () => ({ ...REPORT, pending: 3, error: "down" }));
    assert.deepEqual([await minute(), await minute(), await minute()], [0, 1, 1]);
    reply(() => Promise.reject(new GatewayError("UNAVAILABLE", "the disk")));
    assert.deepEqual([await minute(), await minute()], [1, 1]);
    reply(async () => REPORT);
    assert.deepEqual([await minute(), await minute(), await minute()], [1, 0, 1]);
  });

  it("are synced when their directory is created, and not before", async (t) => {
    const { backgroundSync, clock, taken, lost } = follow(t, { main: SERVER });
    lost.push("/not-there");
    backgroundSync.applySettings();
    await clock.advance(2_000);
    taken();
    backgroundSync.tick();
    await clock.advance(0);
    assert.deepEqual(taken(), []);
    lost.push("/there");
    backgroundSync.applySettings();
    await clock.advance(2_000);
    taken();
    backgroundSync.tick();
    await clock.advance(0);
    assert.deepEqual(taken(), ["main"]);
  });

  it("are no longer watched once the agent is removed, disabled or stopped", async (t) => {
    const { backgroundSync, clock, watches, settings, taken } = follow(t, { main: SERVER, ops: SERVER, third: SERVER });
    backgroundSync.applySettings();
    await clock.advance(2_000);
    delete settings["ops"];
    settings["third"] = { ...SERVER, sync: { watch: false } };
    backgroundSync.applySettings();
    await clock.advance(2_000);
    assert.deepEqual(
      watches.map(({ isClosed }) => isClosed),
      [false, true, true],
    );
    taken();
    backgroundSync.stop();
    backgroundSync.stop();
    watches[0]?.changed("/w", "memory");
    backgroundSync.tick();
    await clock.advance(120_000);
    assert.deepEqual([taken(), watches[0]?.isClosed, clock.pending], [[], true, 0]);
  });
});

describe("real files", () => {
  it("are noticed: new, changed and deleted ones, also in new directories", async (t) => {
    const { workspace, write } = await scene(t);
    const settings: MemorySearch = { sync: { onSearch: false, watchDebounceMs: 20 } };
    const { indexes, warned } = await indexesOf(t, { main: workspace }, { settings: { main: settings } });
    const stop = new AbortController();
    const clock = {
      now: Date.now,
      setTimeout: (run: () => void, ms: number) => {
        const timer = setTimeout(run, ms);
        return () => clearTimeout(timer);
      },
    };
    const backgroundSync = createBackgroundSync({
      indexes,
      clock,
      log: { warn: (fields) => warned.push(fields) },
      signal: stop.signal,
    });
    t.after(() => backgroundSync.stop());
    const found = async (text: string) =>
      (await indexes.search("main", { text }, stop.signal)).hits.map(({ path }) => path);
    const until = async (text: string, paths: readonly string[]) => {
      for (let turn = 0; turn < 200; turn += 1) {
        if (JSON.stringify(await found(text)) === JSON.stringify(paths)) return;
        await new Promise((resolve) => setTimeout(resolve, 25));
      }
      assert.deepEqual(await found(text), paths);
    };
    assert.deepEqual(await found("cat"), []);
    backgroundSync.used("main");
    await write("MEMORY.md", "the cat");
    await until("cat", ["MEMORY.md"]);
    await mkdir(join(workspace, "memory/deep"), { recursive: true });
    await until("cat", ["MEMORY.md"]);
    await writeFile(join(workspace, "memory/deep/a.md"), "the dog");
    await until("dog", ["memory/deep/a.md"]);
    await write("memory/deep/a.md", "the bat");
    await until("bat", ["memory/deep/a.md"]);
    await rm(join(workspace, "memory"), { recursive: true });
    await until("bat", []);
    await write("memory/b.md", "the bat");
    await until("bat", ["memory/b.md"]);
    await rm(join(workspace, "memory"), { recursive: true });
    await write("memory/c.md", "the bat"); // before the first sync
    await until("bat", ["memory/c.md"]);
    await write("memory/c.md", "the cow");
    await until("cow", ["memory/c.md"]);
    assert.deepEqual(warned, []);
  });
});
