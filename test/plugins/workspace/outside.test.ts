/** External content in files and commands: required approvals, and the recorded origin of files. */
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { mkdir, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { outsideOrigin } from "@svc/sdk";
import { fetchedBy } from "../../../plugins/workspace/origins/command-words.ts";
import { openScene, person } from "./scene.ts";

const origin = outsideOrigin("web", "https://evil.example/");
const outside = { outside: { origin, text: "Run it" } };
const patch = (body: string) => ({ patch: `*** Begin Patch\n${body}\n*** End Patch` });

describe("whose words a file holds", () => {
  it("is external for files written by a run with external content, until a run of the owner rewrites them", async (t) => {
    const { use, root } = await openScene(t);
    const whose = async (path: string) => (await use("read", { path })).origin;
    await use("write", { path: "notes/Page.md", content: "Run it" }, outside);
    assert.deepEqual(await whose("notes/Page.md"), origin);
    assert.deepEqual(await whose("./notes/Page.md"), origin);
    await use("edit", { path: "notes/Page.md", oldText: "Run", newText: "Do" });
    assert.deepEqual(await whose("notes/Page.md"), origin, "the rest of it is still theirs");
    await use("write", { path: "notes/Page.md", content: "mine" });
    assert.equal(await whose("notes/Page.md"), undefined);
    await writeFile(join(root, "own.md"), "of an editor");
    assert.equal(await whose("own.md"), undefined);
    await use("edit", { path: "own.md", oldText: "editor", newText: "page" }, outside);
    assert.deepEqual(await whose("own.md"), origin);
  });

  it("stays external at another machine, where the times of commands do not apply", async (t) => {
    const { use, record, storage } = await openScene(t);
    await use("exec", { command: "printf hello > made.md" }, outside);
    await use("write", { path: "marked.md", content: "x" }, outside);
    await use("write", { path: "own.md", content: "mine" });
    const names = ["made.md", "marked.md"];
    await record.keep("main", [...names, "gone.md"]);
    await storage.transaction([{ sql: "DELETE FROM workspace_spans" }]);
    assert.deepEqual(await Promise.all(names.map((name) => record.of("main", [name]))), [origin, origin]);
    assert.equal(await record.of("main", ["gone.md"]), undefined);
  });

  it("follows a file that a patch adds, changes, moves or removes", async (t) => {
    const { use, root } = await openScene(t);
    const whose = async (path: string) => (await use("read", { path })).origin;
    await use("apply_patch", patch("*** Add File: a.md\n+one"), outside);
    assert.deepEqual(await whose("a.md"), origin);
    await use("apply_patch", patch("*** Update File: a.md\n*** Move to: b.md\n-one\n+two"));
    assert.deepEqual(await whose("b.md"), origin, "moved by the owner");
    await use("apply_patch", patch("*** Delete File: b.md"));
    await writeFile(join(root, "b.md"), "new");
    assert.equal(await whose("b.md"), undefined);
  });

  it("is external for all files that changed while a command of such a run ran", async (t) => {
    const { use, root } = await openScene(t);
    await writeFile(join(root, "before.md"), "old");
    const whose = async (path: string) => (await use("read", { path })).origin;
    const result = await use("exec", { command: "printf hello > made.md" }, outside);
    assert.deepEqual(result.origin, origin);
    assert.deepEqual(await whose("made.md"), origin);
    const long = new Date("2020-01-01");
    await utimes(join(root, "made.md"), long, long);
    assert.deepEqual(await whose("made.md"), origin, "an older date does not hide it");
    await mkdir(join(root, "sub"));
    assert.equal((await use("exec", { command: "echo own" })).origin, undefined);
    assert.deepEqual((await use("exec", { command: "cat ./made.md" })).origin, origin);
    assert.deepEqual((await use("exec", { command: "cat ../made.md", workdir: "sub" })).origin, origin);
    await use("exec", { command: "cp made.md copy.md" });
    assert.deepEqual(await whose("copy.md"), origin, "of the owner's run, which names the file");
    await use("write", { path: "noted.md", content: "x" }, outside);
    assert.deepEqual((await use("exec", { command: "cat noted.md" })).origin, origin);
  });

  it("applies to a background command and to its output", async (t) => {
    const { use } = await openScene(t);
    const started = await use("exec", { command: "printf hi > late.md; echo told", background: true }, outside);
    const { sessionId } = started.details as { sessionId: string };
    const polled = await use("process", { action: "poll", sessionId, timeout: 10 });
    assert.deepEqual(polled.origin, origin);
    await use("process", { action: "kill", sessionId });
    assert.deepEqual((await use("read", { path: "late.md" })).origin, origin);
  });

  const commands: readonly [command: string, fetches: boolean][] = [
    ["curl -s example.com", true],
    ["x=1; wget -q example.com", true],
    ["git clone git@example.com:a/b", true],
    ["git -C sub pull", true],
    ["mytool --from https://example.com/a", true],
    ["python3 -c \"import urllib.request as u; u.urlopen('https://example.com')\"", true],
    ["ls -l", false],
    ["git status", false],
    ["curlew --version", false],
    ["node --test http://localhost:3000/", false],
    ["grep -r curly src", false],
  ];
  for (const [command, fetches] of commands) {
    it(`${fetches ? "is" : "is not"} somebody else's after ${command}`, () =>
      assert.equal(fetchedBy(command)?.kind, fetches ? "web" : undefined));
  }
});

describe("exec, because of external content", () => {
  const because = 'it runs a program, and this conversation holds words from web: "Run it"';

  it("asks people although the policy allows it, with the content that led to it, and runs only after a yes", async (t) => {
    for (const decision of ["deny", null, "allow-once"] as const) {
      const { ask, questions } = person(decision);
      const { use, root } = await openScene(t, { ask });
      const ran = use("exec", { command: "touch made" }, { ...outside, because });
      if (decision === "allow-once") await ran;
      else await assert.rejects(ran, { code: "FORBIDDEN" });
      assert.equal(existsSync(join(root, "made")), decision === "allow-once");
      assert.deepEqual(
        questions.map((question) => question.because),
        [because],
      );
    }
  });

  it("is refused when nobody can be asked", async (t) => {
    const { use } = await openScene(t);
    await assert.rejects(
      use("exec", { command: "true" }, { ...outside, because }),
      /no plugin that asks people is running/,
    );
  });
});
