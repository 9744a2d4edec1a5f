/** Conversations in the databases of agents, also beside the files of earlier versions. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import type { ImportRecord } from "@svc/sdk/import";
import { array, assert as check, asyncProperty, boolean, nat, option, record } from "fast-check";
import {
  events,
  hex,
  idsOf,
  line,
  main,
  path,
  read,
  row,
  said,
  session,
  small,
  told,
} from "../../../openclaw-databases.ts";

describe("conversations in databases", () => {
  describe("with files beside the database", () => {
    const list = "agents/main/sessions/sessions.json";
    const files = {
      [list]: JSON.stringify({ main: { sessionId: "s1", updatedAt: 1 }, other: { sessionId: "s2", updatedAt: 1 } }),
      "agents/main/sessions/s1.jsonl": line("f1", null),
      "agents/main/sessions/s2.jsonl": line("f2", null),
      "agents/main/sessions/s3.jsonl.deleted.2026-11-22T20-30-00.000Z": line("f3", null),
    };
    const agent =
      main + events("s1", [said("d1", null)]) + session("agent:main:new", "s4") + events("s4", [said("d4", null)]);
    const shown = async (global: string, t: TestContext) => {
      const { transcripts } = await read(small(t, { agent, global, files }));
      return transcripts.map((one) => [one.id, ...idsOf(one)].join(" ")).toSorted();
    };

    it("takes a session from the database when it has recorded that it took the file", async (t) => {
      const moved = row("migration_sources", { source_path: `/home/ada/.openclaw/${list}`, status: "completed" });
      assert.deepEqual(await shown(moved, t), ["s1 d1", "s2 f2", "s3 f3", "s4 d4"]);
    });

    it("takes it from the file when the database has not, and gives nothing twice", async (t) => {
      const unfinished = row("migration_sources", { source_path: `/home/ada/.openclaw/${list}`, status: "pending" });
      assert.deepEqual(await shown(unfinished, t), ["s1 f1", "s2 f2", "s3 f3", "s4 d4"]);
    });

    it("joins jobs by id", async (t) => {
      const job = (name: string) => ({ id: "j", name, createdAtMs: 1, payload: { kind: "systemEvent", text: "x" } });
      const global = row("cron_jobs", { job_id: "j", job_json: JSON.stringify(job("new")), enabled: 1 });
      const state = small(t, { global, files: { "cron/jobs.json": JSON.stringify({ jobs: [job("old")] }) } });
      const { of } = await read(state);
      assert.deepEqual(
        of<ImportRecord & { name: string }>("cron-job").map(({ name }) => name),
        ["old"],
      );
    });
  });

  describe("with a transcript", () => {
    const forked = [said("a", null), said("left", "a"), said("right", "a")];

    it("follows the path that the database has computed", async (t) => {
      const { archives, transcripts } = await read(
        small(t, { agent: main + events("s1", forked) + path("s1", [1, 2], 3) }),
      );
      assert.deepEqual(transcripts.map(idsOf), [["a", "left"], ["right"]]);
      assert.deepEqual(archives, [
        { id: "s1.branches", key: "agent:main:main", reason: "bak", archivedAt: 5, partOf: "s1" },
      ]);
    });

    it("follows the tree when the path is old, is to be computed anew, or is not there", async (t) => {
      const paths = [path("s1", [1, 2], 2), path("s1", [1, 2], 3, 1), ""];
      for (const computed of paths) {
        const { transcripts } = await read(small(t, { agent: main + events("s1", forked) + computed }));
        assert.deepEqual(transcripts.map(idsOf), [["a", "right"], ["left"]]);
      }
    });

    it("goes on from the entry that a leaf chooses", async (t) => {
      const leaf = { type: "leaf", id: "leaf", parentId: "right", targetId: "left" };
      const { transcripts } = await read(small(t, { agent: main + events("s1", [...forked, leaf]) }));
      assert.deepEqual(transcripts.map(idsOf), [["a", "left"], ["right"]]);
    });

    it("archives what was before each reset", async (t) => {
      const reset = (id: string, parentId: string, at: string) => ({ type: "reset", id, parentId, timestamp: at });
      const entries = [
        said("a", null),
        reset("r1", "a", "2026-11-22T20:01:00.000Z"),
        said("b", "r1"),
        reset("r2", "b", "2026-11-22T20:02:00.000Z"),
        said("c", "r2"),
      ];
      const { archives, transcripts } = await read(small(t, { agent: main + events("s1", entries) }));
      assert.deepEqual(transcripts.map(idsOf), [["c"], ["a"], ["b"]]);
      const at = Date.parse("2026-11-22T20:01:00.000Z");
      assert.deepEqual(archives[0], {
        id: `s1.reset.${at}`,
        key: "agent:main:main",
        reason: "reset",
        archivedAt: at,
        partOf: "s1",
      });
    });

    it("reads compressed events", async (t) => {
      const EVENT = [
        "KLUv/QRoVQMAIkcWF3CtxpDbjMRxj1Yj9KsByEgbnhWxqgon08SAtwvi4vpsdjYOsvpZCa0v4zxLqjbWWsLS1YrWAsaCoa22HqGb",
        "cqEyV7v1R8xmHxdXH+tPWb2Jk3Lh+sZoLgUEAFwjAwlU9DGhzDBwZv0XL28=",
      ].join("");
      const packed = `INSERT INTO transcript_events VALUES ('s1', 2, NULL, ${hex(EVENT)});`;
      const { transcripts, items } = await read(small(t, { agent: main + events("s1", [said("a", null)]) + packed }));
      assert.deepEqual(transcripts.map(idsOf), [["a", "b"]]);
      const [, second] = transcripts[0]?.messages ?? [];
      assert.deepEqual(second?.message.content, [{ type: "text", text: "packed ".repeat(20) }]);
      assert.deepEqual(items, []);
    });

    it("leaves out damaged events, counts them and takes the rest", async (t) => {
      const damaged =
        `INSERT INTO transcript_events VALUES ('s1', 2, '{"type":"mess', NULL);` +
        `INSERT INTO transcript_events VALUES ('s1', 3, NULL, X'28b52ffd00');` +
        row("transcript_events", {
          session_id: "s1",
          seq: 4,
          event_json: JSON.stringify(said("d", "c")),
          event_zstd: null,
        });
      const { transcripts, items } = await read(small(t, { agent: main + events("s1", [said("a", null)]) + damaged }));
      assert.deepEqual(transcripts.map(idsOf), [["a", "d"]]);
      assert.deepEqual(items, [
        { kind: "transcript", id: "s1", action: "convert", reason: "2 entries are damaged and left out", added: 0 },
      ]);
    });

    it("keeps the newer of two keys that are the same here", async (t) => {
      const agent =
        session("agent:main:dm:bob", "old", 1) +
        session("Agent:main:direct:bob", "new", 2) +
        events("old", [said("o", null)]) +
        events("new", [said("n", null)]);
      const { sessions, archives } = await read(small(t, { agent }));
      assert.deepEqual(
        sessions.map(({ id, sessionId }) => [id, sessionId]),
        [["agent:main:direct:bob", "new"]],
      );
      assert.deepEqual(
        archives.map(({ id, key, reason }) => [id, key, reason]),
        [["old", "agent:main:old", "kept"]],
      );
    });

    it("names a session whose entry is damaged, and keeps its messages", async (t) => {
      const agent =
        `INSERT INTO session_nodes VALUES ('agent:main:main', 's1', '{', 5);` + events("s1", [said("a", null)]);
      const { sessions, archives, items } = await read(small(t, { agent }));
      assert.deepEqual(
        [sessions, archives.map(({ id }) => id), items.map(told)],
        [[], ["s1"], ["session agent:main:main refuse"]],
      );
    });

    it("gives every message of any trees once, on the path or in a branch, in the order of the parents", async (t) => {
      const tree = record({
        picks: array(option(nat(), { freq: 8 }), { minLength: 1, maxLength: 30 }),
        isComputed: boolean(),
      });
      await check(
        asyncProperty(array(tree, { minLength: 1, maxLength: 8 }), async (trees) => {
          const agent = trees.map(({ picks, isComputed }, at) => {
            const entries = picks.map((pick, i) => said(`m${i}`, i === 0 || pick === null ? null : `m${pick % i}`));
            const onPath: number[] = [];
            for (let i: number | undefined = picks.length - 1; i !== undefined;) {
              onPath.unshift(i + 1);
              const parent: string | null | undefined = entries[i]?.parentId;
              i = parent == null ? undefined : Number(parent.slice(1));
            }
            const computed = isComputed ? path(`s${at}`, onPath, picks.length) : "";
            return session(`agent:main:k${at}`, `s${at}`) + events(`s${at}`, entries) + computed;
          });
          const { transcripts } = await read(small(t, { agent: agent.join("") }));
          for (const [at, { picks }] of trees.entries()) {
            const shown = transcripts.filter(({ id }) => id === `s${at}`).flatMap(idsOf);
            const others = transcripts.filter(({ id }) => id === `s${at}.branches`).flatMap(idsOf);
            assert.deepEqual([...shown, ...others].toSorted(), picks.map((_, i) => `m${i}`).toSorted());
            assert.equal(shown.at(-1), `m${picks.length - 1}`);
            for (const [i, id] of shown.entries()) {
              const own = Number(id.slice(1));
              const pick = picks[own];
              assert.equal(shown[i - 1], own === 0 || pick == null ? undefined : `m${pick % own}`);
            }
          }
        }),
        { numRuns: 25 },
      );
    });
  });

  describe("with archives", () => {
    const ARCHIVE = [
      "KLUv/QRojQQAYgkcF3Bvxui20qKIHCHYMb0eenAKtvzsvz6Yy8qtr2x4yslh1mfcGSNl97SSWt8nmsbUjbz3hKcPHhAGwxAU8MF1",
      "CUqmXMiZu+ehor4YM+6USLut3dskUi40kL0xam764twc0XTa6uaOkSPlypu+0jXHAgsArydeAM6HQQeOCzEbp4rzmlAGdAGHuuhU",
      "FPBV8Cd4mIw=",
    ].join("");
    const checksum = createHash("sha256").update(Buffer.from(ARCHIVE, "base64")).digest("hex");
    const name = "gone.jsonl.deleted.2026-11-22T20-40-52.515Z.1.zst";
    const archived = (blob: string, sum = checksum) =>
      `INSERT INTO session_transcript_archives VALUES
        ('gone', 'agent:main:Gone', 'deleted', 'zstd', ${blob}, '${sum}', '${name}', 7);`;
    const expected = { id: "gone", key: "agent:main:gone", reason: "deleted", archivedAt: 7 };

    it("reads them from the database, or from the file that it was written to", async (t) => {
      const written = small(t, { agent: archived("NULL") });
      mkdirSync(join(written, "agents/main/sessions"));
      writeFileSync(join(written, "agents/main/sessions", name), Buffer.from(ARCHIVE, "base64"));
      for (const state of [small(t, { agent: archived(hex(ARCHIVE)) }), written]) {
        const { archives, transcripts } = await read(state);
        assert.deepEqual([archives, transcripts.map(idsOf)], [[expected], [["x", "y"]]]);
      }
    });

    it("names one that is missing, differs from its checksum, or is damaged", async (t) => {
      const [junk, sum] = ["X'00112233'", createHash("sha256").update(Buffer.from("00112233", "hex")).digest("hex")];
      const cases: [blob: string, sum: string, reason: RegExp][] = [
        ["X''", checksum, /its content is missing: not in the database, nor in agents\/main\/sessions\/gone\.jsonl/],
        [hex(ARCHIVE), "0", /its content differs from its checksum/],
        [junk, sum, /its content is damaged/],
      ];
      for (const [blob, of, reason] of cases) {
        const { archives, items } = await read(small(t, { agent: archived(blob, of) }));
        assert.deepEqual([archives, items.map(({ action }) => action)], [[], ["refuse"]]);
        assert.match(String(items[0]?.reason), reason);
      }
    });

    it("takes from one only what the session does not show", async (t) => {
      const agent = session("agent:main:gone", "gone") + events("gone", [said("x", null)]) + archived(hex(ARCHIVE));
      const { archives, transcripts } = await read(small(t, { agent }));
      assert.deepEqual(transcripts.map(idsOf), [["x"], ["y"]]);
      assert.deepEqual(archives, [{ ...expected, id: "gone.deleted.7", partOf: "gone" }]);
    });

    it("takes the sessions that a key had before, with the reason and the time of their successor", async (t) => {
      const window = (id: string, previous: string | null, reason: string, at: number) =>
        row("session_windows", {
          session_id: id,
          session_key: "agent:main:main",
          previous_session_id: previous,
          reason,
          created_at: at,
          updated_at: at + 1,
        });
      const agent =
        main +
        window("s1", "s0", "rollover", 30) +
        window("s0", "s-1", "fork", 20) +
        window("s-1", null, "initial", 10) +
        ["s1", "s0", "s-1"].map((id) => events(id, [said(`in-${id}`, null)])).join("");
      const { archives } = await read(small(t, { agent }));
      assert.deepEqual(archives, [
        { id: "s-1", key: "agent:main:main", reason: "kept", archivedAt: 20 },
        { id: "s0", key: "agent:main:main", reason: "reset", archivedAt: 30 },
      ]);
    });

    it("puts old events that moved into an archive before the others", async (t) => {
      const COLD = [
        "KLUv/QRodQUAkgohGVCvDsMLa8dKOjQyXvvGzeC83X/CuDPjZg3Adf263qVVJlOqpbl2rha5jSVq76UV26XhnBNcdLCAMHgvGKCD",
        "0DMz7ofJl41SqRK59p1QQm3CXLbLVibG/VzGy4aqfGlVi5ujPRYfNb7F4il7c+2pgesPE9UyGDc+a7+dzF7O4pPKOLcCDyAQGoHH",
        "B6ZGqBlxQeIOs5Fximo9gNiWbWhlMOHxEiDsS/eh7coDbgDogg==",
      ].join("");
      const sum = createHash("sha256").update(Buffer.from(COLD, "base64")).digest("hex");
      const event = JSON.stringify(said("recent", "old"));
      const agent =
        main +
        row("transcript_events", { session_id: "s1", seq: 2, event_json: event, event_zstd: null }) +
        path("s1", [2], 2) +
        `INSERT INTO session_transcript_cold_archives VALUES ('s1', 'a.jsonl.zst', '${sum}', NULL);`;
      const state = small(t, { agent });
      mkdirSync(join(state, "agents/main/sessions/cold"), { recursive: true });
      writeFileSync(join(state, "agents/main/sessions/cold/a.jsonl.zst"), Buffer.from(COLD, "base64"));
      const { transcripts, archives } = await read(state);
      assert.deepEqual([transcripts.map(idsOf), archives], [[["old", "recent"]], []]);
    });
  });

  it("converts where replies go, and leaves out what only the source reads", async (t) => {
    const route = { channel: "telegram", to: "7", accountId: "a", threadId: 3 };
    const delivery = { kind: "external", route, context: route, origin: { provider: "telegram" } };
    const entry = {
      label: "L",
      delivery,
      lifecycleRevision: "r",
      sessionDiffBaseline: { root: "/" },
      execSecurity: "deny",
    };
    const { sessions } = await read(small(t, { agent: session("agent:main:main", "s1", 5, entry) }));
    assert.deepEqual(sessions[0]?.entry, {
      label: "L",
      execSecurity: "deny",
      origin: { provider: "telegram" },
      deliveryContext: route,
      lastChannel: "telegram",
      lastTo: "7",
      lastAccountId: "a",
      lastThreadId: 3,
    });
  });
});
