/** Records of a state directory that keeps everything in files. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { linkSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import type { ImportItem } from "@svc/kit/import";
import type { ArchiveRecord, ImportRecord, SessionRecord, TranscriptRecord } from "@svc/sdk/import";
import { keyOf } from "../../../../plugins/import/openclaw/entries.ts";
import { marchRecords } from "../../../../plugins/import/openclaw/march.ts";
import { stateFiles } from "../../../../plugins/import/openclaw/state-files.ts";
import { directory, put } from "../../../directory.ts";
import { openClawHome } from "../../../openclaw-state.ts";

async function read(state: string, channels: readonly string[] = ["webchat"]) {
  const items: ImportItem[] = [];
  const byKind: Record<string, ImportRecord[]> = {};
  const files = stateFiles(state);
  for await (const { kind, records } of marchRecords({
    files,
    channels: new Set(channels),
    tell: (item) => void items.push(item),
  }))
    (byKind[kind] ??= []).push(...records);
  const of = <R extends ImportRecord>(kind: string) => (byKind[kind] ?? []) as R[];
  return {
    items,
    of,
    sessions: of<SessionRecord>("session"),
    archives: of<ArchiveRecord>("archive"),
    transcripts: of<TranscriptRecord>("transcript"),
  };
}

const SESSIONS = "agents/main/sessions";
/** A line of a transcript. */
const line = (id: string, parentId: string | null, text = id) =>
  `${JSON.stringify({ type: "message", id, parentId, timestamp: "2026-11-22T20:00:00.000Z", message: { role: "user", content: text, timestamp: 1 } })}\n`;

/** A state with one session `agent:main:main` whose transcript is `s1.jsonl`. */
function small(t: TestContext, files: Readonly<Record<string, string>> = {}): string {
  const state = directory(t);
  const all = {
    "openclaw.json": "{}",
    [`${SESSIONS}/sessions.json`]: JSON.stringify({ "agent:main:main": { sessionId: "s1", updatedAt: 5 } }),
    [`${SESSIONS}/s1.jsonl`]: line("a", null) + line("b", "a"),
    ...files,
  };
  for (const [name, text] of Object.entries(all)) put(join(state, name), text, 0o600);
  return state;
}

describe("marchRecords", () => {
  it("reads the state of a real gateway", async (t) => {
    const { state } = openClawHome(t);
    const { sessions, archives, transcripts, items, of } = await read(state);
    assert.deepEqual(
      sessions.map(({ id }) => id),
      [
        "agent:main:main",
        "agent:main:project-x",
        "agent:main:oldone",
        "agent:main:cron:99ee45ad-2ca5-4201-a47d-8ee205d17021",
        "agent:main:cron:99ee45ad-2ca5-4201-a47d-8ee205d17021:run:f8f5e8f6-f512-447c-a7c0-04b3c9f8da0b",
        "agent:main:hook:ci:1",
        "agent:main:openai-user:bob",
        "agent:work:main",
      ],
    );
    assert.deepEqual(
      transcripts.map(({ id, messages }) => `${id.slice(0, 8)} ${messages.length}`),
      ["9ab3a873 6", "cfff310c 10", "f8f5e8f6 2", "8e30b077 2", "0820060a 2", "0b8cdc1a 2", "0c9a733b 2", "d34f7dd6 2"],
    );
    assert.deepEqual(
      archives.map(({ id, reason, archivedAt }) => [id.slice(0, 8), reason, new Date(archivedAt).toISOString()]),
      [
        ["0b8cdc1a", "deleted", "2026-11-22T20:36:59.245Z"],
        ["0c9a733b", "reset", "2026-11-22T20:36:39.918Z"],
      ],
    );
    const kinds = ["cron-job", "cron-run", "device", "node", "command-policy", "wake-words"];
    assert.deepEqual(
      kinds.map((kind) => of(kind).length),
      [3, 1, 2, 0, 1, 1],
    );
    assert.deepEqual(
      items.map(({ kind, action }) => `${kind} ${action}`),
      ["cron-job convert"],
    );
    const hooked = transcripts.find(({ id }) => id.startsWith("8e30b077"))?.messages[0]?.message;
    assert.equal(Object(hooked)["origin"].kind, "webhook");
  });

  it("takes no field of an entry that nothing here reads", async (t) => {
    const { state } = openClawHome(t);
    const { sessions } = await read(state);
    const names = new Set(sessions.flatMap(({ entry }) => Object.keys(entry)));
    assert.deepEqual(
      ["skillsSnapshot", "sessionFile", "sessionId"].filter((name) => names.has(name)),
      [],
    );
    assert.equal(sessions[0]?.entry["lastTo"], "heartbeat");
  });

  it("disables a job that delivers to a channel without a plugin, and leaves it on with one", async (t) => {
    const { state } = openClawHome(t);
    const enabled = async (channels: readonly string[]) =>
      (await read(state, channels))
        .of<ImportRecord & { name: string; enabled: boolean }>("cron-job")
        .map((job) => `${job.name} ${job.enabled}`);
    assert.deepEqual(await enabled([]), ["backup true", "tea true", "once false"]);
    assert.deepEqual(await enabled(["irc"]), ["backup true", "tea true", "once true"]);
  });

  it("takes a transcript without a session as an archive", async (t) => {
    const { archives } = await read(small(t, { [`${SESSIONS}/lost.jsonl`]: line("x", null) }));
    assert.deepEqual(archives, [
      { id: "lost", key: "agent:main:lost", reason: "kept", archivedAt: Date.parse("2026-11-22T20:00:00.000Z") },
    ]);
  });

  it("takes from a copy that was made before a cut only what the session no longer has", async (t) => {
    const copy = `${SESSIONS}/s1.jsonl.bak.2026-11-22T20-30-00.000Z`;
    const { archives, transcripts } = await read(
      small(t, { [copy]: line("old", null) + line("a", "old") + line("b", "a") }),
    );
    const at = Date.parse("2026-11-22T20:30:00.000Z");
    assert.deepEqual(archives, [
      { id: `s1.bak.${at}`, key: "agent:main:s1", reason: "bak", archivedAt: at, partOf: "s1" },
    ]);
    assert.deepEqual(
      transcripts.map(({ messages }) => messages.map(({ id }) => id)),
      [["a", "b"], ["old"]],
    );
  });

  it("skips a copy that has nothing more", async (t) => {
    const copy = `${SESSIONS}/s1.jsonl.bak.2026-11-22T20-30-00.000Z`;
    const { archives, items } = await read(small(t, { [copy]: line("a", null) + line("b", "a") }));
    assert.deepEqual([archives, items.map(({ action }) => action)], [[], ["skip"]]);
  });

  it("takes other branches of a transcript as an archive", async (t) => {
    const text = line("a", null) + line("left", "a") + line("right", "a");
    const { archives, transcripts } = await read(small(t, { [`${SESSIONS}/s1.jsonl`]: text }));
    assert.deepEqual(archives, [
      { id: "s1.branches", key: "agent:main:main", reason: "bak", archivedAt: 5, partOf: "s1" },
    ]);
    assert.deepEqual(
      transcripts.map(({ messages }) => messages.map(({ id }) => id)),
      [["a", "right"], ["left"]],
    );
  });

  it("splits a long transcript, with the compactions in its last part", async (t) => {
    const lines = Array.from({ length: 1_001 }, (_, at) => line(`m${at}`, at === 0 ? null : `m${at - 1}`));
    const compaction = {
      type: "compaction",
      id: "c",
      parentId: "m1000",
      timestamp: "2026-11-22T20:00:00.000Z",
      summary: "s",
      firstKeptEntryId: "m1000",
      tokensBefore: 1,
    };
    const text = `${lines.join("")}${JSON.stringify(compaction)}\n`;
    const { transcripts } = await read(small(t, { [`${SESSIONS}/s1.jsonl`]: text }));
    assert.deepEqual(
      transcripts.map(({ after, messages, compactions }) => [after, messages.length, compactions?.length]),
      [
        [undefined, 500, undefined],
        ["m499", 500, undefined],
        ["m999", 1, 1],
      ],
    );
  });

  it("reads the transcript of a topic", async (t) => {
    const state = small(t, {
      [`${SESSIONS}/sessions.json`]: JSON.stringify({
        "agent:main:telegram:group:-1:topic:7": { sessionId: "s1", updatedAt: 1 },
      }),
      [`${SESSIONS}/s1-topic-7.jsonl`]: line("t", null),
    });
    const { transcripts } = await read(state);
    assert.deepEqual(
      transcripts[0]?.messages.map(({ id }) => id),
      ["t"],
    );
  });

  it("keeps the newer of two keys that are the same here, and archives the other", async (t) => {
    const store = {
      "Agent:main:DM:bob": { sessionId: "old", updatedAt: 1 },
      "agent:main:direct:bob": { sessionId: "s1", updatedAt: 2 },
    };
    const state = small(t, {
      [`${SESSIONS}/sessions.json`]: JSON.stringify(store),
      [`${SESSIONS}/old.jsonl`]: line("o", null),
    });
    const { sessions, archives } = await read(state);
    assert.deepEqual(
      sessions.map(({ id, sessionId }) => [id, sessionId]),
      [["agent:main:direct:bob", "s1"]],
    );
    assert.deepEqual(
      archives.map(({ id, reason }) => [id, reason]),
      [["old", "kept"]],
    );
  });

  it("completes a key of an older form with its agent", async (t) => {
    const store = {
      main: { sessionId: "s1", updatedAt: 1 },
      global: { sessionId: "g", updatedAt: 1 },
      empty: {},
      list: [],
    };
    const { sessions, items } = await read(small(t, { [`${SESSIONS}/sessions.json`]: JSON.stringify(store) }));
    assert.deepEqual(
      sessions.map(({ id }) => id),
      ["agent:main:main", "global"],
    );
    assert.deepEqual(
      items.map(({ id, action }) => [id, action]),
      [
        ["empty", "refuse"],
        ["list", "refuse"],
      ],
    );
  });

  it("writes people and groups of networks as the plugins here do", () => {
    const keys: [there: string, here: string][] = [
      ["agent:main:whatsapp:dm:+15550001111", "agent:main:whatsapp:direct:15550001111"],
      ["agent:main:whatsapp:work:direct:+15550001111", "agent:main:whatsapp:work:direct:15550001111"],
      ["agent:main:telegram:group:-100123:topic:7", "agent:main:telegram:group:-100123:topic:7"],
      ["agent:main:direct:ann", "agent:main:direct:ann"],
      ["agent:main:cron:a:run:b", "agent:main:cron:a:run:b"],
    ];
    for (const [there, here] of keys) assert.equal(keyOf(there, "main"), here);
  });

  describe("with damage", () => {
    it("leaves out a cut last line, names the file and takes the rest", async (t) => {
      const { transcripts, items } = await read(
        small(t, { [`${SESSIONS}/s1.jsonl`]: `${line("a", null)}{"type":"mess` }),
      );
      assert.deepEqual(
        transcripts[0]?.messages.map(({ id }) => id),
        ["a"],
      );
      assert.deepEqual(items, [
        {
          kind: "file",
          id: `${SESSIONS}/s1.jsonl`,
          action: "convert",
          reason: "1 lines are damaged and left out",
          added: 0,
        },
      ]);
    });

    it("reads the newest backup of a damaged list of sessions", async (t) => {
      const backup = JSON.stringify({ "agent:main:main": { sessionId: "s1", updatedAt: 1 } });
      const state = small(t, { [`${SESSIONS}/sessions.json`]: "{", [`${SESSIONS}/sessions.json.bak.1795`]: backup });
      const { sessions, items } = await read(state);
      assert.deepEqual([sessions.length, items[0]?.action], [1, "convert"]);
    });

    it("takes the transcripts as archives when the list of sessions is lost", async (t) => {
      const { sessions, archives, items } = await read(small(t, { [`${SESSIONS}/sessions.json`]: "{" }));
      assert.deepEqual([sessions, archives.map(({ id, key }) => [id, key])], [[], [["s1", "agent:main:s1"]]]);
      assert.match(String(items[0]?.reason), /sessions\.json is not JSON5: .*correct it, or restore its backup/);
    });
  });

  it("follows no link, opens no pipe and takes no file with several names", async (t) => {
    const state = small(t);
    const path = join(state, SESSIONS, "s1.jsonl");
    const text = readFileSync(path, "utf8");
    const outside = join(directory(t), "outside.jsonl");
    writeFileSync(outside, text);
    const replaced: [what: RegExp, replace: () => void][] = [
      [/symbolic link/, () => symlinkSync(outside, path)],
      [/not a plain file/, () => execFileSync("mkfifo", [path])],
      [/several hard links/, () => linkSync(outside, path)],
    ];
    for (const [reason, replace] of replaced) {
      execFileSync("rm", ["-f", path]);
      replace();
      const { transcripts, items } = await read(state);
      assert.deepEqual(
        [transcripts, items.map(({ kind, id, action }) => [kind, id, action])],
        [[], [["transcript", "s1", "refuse"]]],
      );
      assert.match(String(items[0]?.reason), reason);
    }
  });
});
