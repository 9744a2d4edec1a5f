/** Sessions, transcripts and archives as files, and what an import reads from them. */
import assert from "node:assert/strict";
import { appendFileSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { array, assert as check, asyncProperty, boolean, integer, nat, record, string } from "fast-check";
import type { ExportedState, ImportItem } from "@svc/kit/import";
import type { ArchiveRecord, ImportRecord, SessionRecord, TranscriptMessage, TranscriptRecord } from "@svc/sdk/import";
import { conversationsOut } from "../../../../plugins/import/openclaw/conversations-out.ts";
import { marchRecords } from "../../../../plugins/import/openclaw/march.ts";
import { stateFiles } from "../../../../plugins/import/openclaw/state-files.ts";
import { directory } from "../../../directory.ts";

interface Conversations {
  readonly session?: readonly SessionRecord[];
  readonly archive?: readonly ArchiveRecord[];
  readonly transcript?: readonly TranscriptRecord[];
}

async function write(state: string, given: Conversations) {
  const items: ImportItem[] = [];
  async function* records(kind: string): AsyncGenerator<ImportRecord> {
    yield* given[kind as keyof Conversations] ?? [];
  }
  const counts = await conversationsOut({ records } as unknown as ExportedState, {
    directory: state,
    defaultAgentId: "main",
    workspaces: new Map([["main", "/work"]]),
    async put(name, content) {
      mkdirSync(dirname(join(state, name)), { recursive: true });
      appendFileSync(join(state, name), typeof content === "string" ? content : JSON.stringify(content), {
        mode: 0o600,
      });
    },
    tell: (item) => void items.push(item),
  });
  return { counts, items };
}

async function read(state: string): Promise<Required<Conversations>> {
  const found: Record<string, ImportRecord[]> = { session: [], archive: [], transcript: [] };
  for await (const { kind, records } of marchRecords({
    files: stateFiles(state),
    channels: new Set(),
    tell: ({ reason }) => assert.fail(reason),
  }))
    found[kind]?.push(...records);
  return found as unknown as Required<Conversations>;
}

const message = (id: string, at: number, role = "user"): TranscriptMessage => ({
  id,
  at,
  message: { role, content: [{ type: "text", text: id }], timestamp: at } as TranscriptMessage["message"],
});
const session = (sessionId: string, id = `agent:main:${sessionId}`): SessionRecord => ({
  id,
  sessionId,
  updatedAt: 9_000,
  entry: {},
});

describe("conversationsOut", () => {
  it("writes files from which an import takes the same records", async (t: TestContext) => {
    const turns = array(record({ wait: nat(1_000), isUser: boolean() }), { minLength: 1, maxLength: 12 });
    const cuts = array(record({ after: nat(11), keeps: nat(11), summary: string({ minLength: 1 }) }), { maxLength: 3 });
    const shape = record({ turns, cuts, branch: boolean(), kind: integer({ min: 0, max: 3 }) });
    await check(
      asyncProperty(array(shape, { minLength: 1, maxLength: 4 }), async (shapes) => {
        const given = {
          session: [] as SessionRecord[],
          archive: [] as ArchiveRecord[],
          transcript: [] as TranscriptRecord[],
        };
        for (const [at, { turns: said, cuts: made, branch, kind }] of shapes.entries()) {
          const id = `s${at}`;
          let now = 1_700_000_000_000;
          const messages = said.map(({ wait, isUser }, index) =>
            message(`m${index}`, (now += wait + 1), isUser ? "user" : "toolResult"),
          );
          const at2 = (index: number) => messages[Math.min(index, messages.length - 1)] ?? message("", 0);
          const compactions = made
            .map(({ after, keeps, summary }) => ({
              summary,
              firstKeptId: at2(Math.min(after, keeps)).id,
              tokensBefore: after,
              at: at2(after).at,
            }))
            .filter((one, index, all) => all.findIndex((other) => other.at === one.at) === index)
            .toSorted((one, other) => one.at - other.at);
          const reason = (["reset", "deleted", "bak"] as const)[kind];
          if (reason === undefined) given.session.push(session(id));
          else given.archive.push({ id, key: `agent:main:former-${at}`, reason, archivedAt: 5_000 });
          given.transcript.push({
            id,
            messages: messages.map(asImported),
            ...(compactions.length > 0 ? { compactions } : {}),
          });
          if (!branch) continue;
          const archivedAt = reason === undefined ? 9_000 : 5_000;
          const key = reason === undefined ? `agent:main:${id}` : `agent:main:former-${at}`;
          given.archive.push({ id: `${id}.branches`, key, reason: "bak", archivedAt, partOf: id });
          given.transcript.push({
            id: `${id}.branches`,
            messages: [message("b0", now), message("b1", now + 5)].map(asImported),
          });
        }
        const state = directory(t);
        const { items } = await write(state, given);
        assert.deepEqual(items, []);
        const found = await read(state);
        for (const kind of ["session", "archive", "transcript"] as const) {
          const sorted = (records: readonly ImportRecord[]) =>
            records.toSorted((one, other) => (one.id < other.id ? -1 : 1));
          assert.deepEqual(sorted(found[kind]), sorted(given[kind]), kind);
        }
      }),
      { numRuns: 60 },
    );
  });

  it("writes the parts of a long transcript into one file, and a summary after the messages that it replaces", async (t) => {
    const state = directory(t);
    const transcript = [
      {
        id: "s1",
        messages: [message("a", 1), message("b", 2)],
        compactions: [{ summary: "A and B", firstKeptId: "b", tokensBefore: 8, at: 3 }],
      },
      { id: "s1", after: "b", messages: [message("c", 4), message("d", 5)] },
    ];
    const { counts } = await write(state, { session: [session("s1"), session("s1", "agent:main:run")], transcript });
    assert.deepEqual(counts, { session: 2, archive: 0, transcript: 4 });
    const lines = readFileSync(join(state, "agents/main/sessions/s1.jsonl"), "utf8").trim().split("\n");
    const entries = lines.map((line) => JSON.parse(line) as Record<string, string>);
    assert.deepEqual(
      entries.map(({ type, id }) => (type === "message" ? id : type)),
      ["session", "a", "b", "compaction", "c", "d"],
    );
    const parents = entries.slice(1).map(({ parentId }) => parentId);
    assert.deepEqual(parents, [null, ...entries.slice(1, -1).map(({ id }) => id)], "each entry follows the one before");
    assert.equal(entries[0]?.["cwd"], "/work");
  });

  it("keeps other branches of a transcript without messages, as an archive", async (t) => {
    const state = directory(t);
    const branches = { id: "s1.branches", key: "agent:main:s1", reason: "bak", archivedAt: 5, partOf: "s1" } as const;
    const lost = { ...branches, id: "s2.branches", partOf: "s2" };
    const transcript = [{ id: "s1.branches", messages: [message("a", 1)] }];
    await write(state, { session: [session("s1"), session("s2")], archive: [branches, lost], transcript });
    const { archive, transcript: found } = await read(state);
    assert.deepEqual(
      [archive.map(({ reason }) => reason), found.map(({ messages }) => messages.length)],
      [["bak"], [1]],
    );
  });

  it("writes texts of the gateway itself as those of the other gateway", async (t) => {
    const state = directory(t);
    const own = { ...message("a", 1).message, role: "assistant", provider: "svc", model: "gateway-injected" };
    await write(state, {
      session: [session("s1")],
      transcript: [{ id: "s1", messages: [{ id: "a", at: 1, message: own }] }],
    });
    const [, line = ""] = readFileSync(join(state, "agents/main/sessions/s1.jsonl"), "utf8").split("\n");
    assert.equal(JSON.parse(line).message.provider, "openclaw");
  });

  it("leaves out what cannot be a file there, or what nothing shows, and says so", async (t) => {
    const state = directory(t);
    const { items } = await write(state, {
      session: [session("../../x"), session("s1", "agent:../x:main"), session("s2", "global")],
      archive: [{ id: "a/b", key: "agent:main:main", reason: "reset", archivedAt: 1 }],
      transcript: [{ id: "lost", messages: [message("a", 1)] }],
    });
    assert.deepEqual(
      items.map(({ kind, id, action }) => `${kind} ${id} ${action}`),
      [
        "session agent:main:../../x refuse",
        "session agent:../x:main refuse",
        "archive a/b refuse",
        "transcript lost drop",
      ],
    );
    assert.deepEqual(readdirSync(join(state, "agents")), ["main"]);
  });
});

/** The fields that an import adds to the result of a tool. */
function asImported(given: TranscriptMessage): TranscriptMessage {
  const { message: own } = given;
  if (own.role !== "toolResult") return given;
  return {
    ...given,
    message: { ...own, toolCallId: "", toolName: "", isError: false } as TranscriptMessage["message"],
  };
}
