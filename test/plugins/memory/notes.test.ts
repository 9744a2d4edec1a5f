/** The notes themselves: list, read, write. */
import assert from "node:assert/strict";
import { link, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { contentHash } from "@svc/kit/files";
import { outsideOrigin } from "@svc/sdk";
import type { IdentityChange, IdentityFiles } from "@svc/sdk/agents";
import { createNoteHandlers } from "../../../plugins/memory/notes.ts";
import { principal } from "../agents/script.ts";
import { temporaryDirectory } from "../agents/temporary.ts";
import { indexesOf } from "./indexes-scene.ts";
import { never, scene } from "./scene.ts";

async function notesOf(t: TestContext, files: Record<string, string>, extraPaths: readonly string[] = []) {
  const { workspace } = await scene(t, files);
  const { indexes } = await indexesOf(t, { main: workspace }, { settings: { main: { extraPaths: [...extraPaths] } } });
  const changes: Pick<IdentityChange, "paths" | "how">[] = [];
  const identityFiles: IdentityFiles = {
    change(change, write) {
      changes.push({ paths: change.paths, how: change.how });
      return write();
    },
  };
  const handlers = createNoteHandlers({
    indexes,
    agents: () => ({ list: () => [{ id: "main", isDefault: true, workspace }] }),
    identityFiles: () => identityFiles,
    originOf: async (_agent, [name = ""]) =>
      name.includes("page") ? outsideOrigin("web", "https://x.test/") : undefined,
    meant: (agentId = "main") => agentId,
  });
  type Call = Parameters<typeof handlers.files>[0];
  const as = <P>(params: P) => ({ params, principal, signal: never }) as unknown as Call & { readonly params: P };
  return {
    workspace,
    changes,
    files: async () => handlers.files(as({})),
    read: async (path: string) => handlers.read(as({ path })),
    write: async (path: string, content: string, baseHash?: string) =>
      handlers.write(as({ path, content, ...(baseHash === undefined ? {} : { baseHash }) })),
  };
}

describe("notes", () => {
  it("are listed and read, with a mark for those of others", async (t) => {
    const extra = await temporaryDirectory(t);
    await writeFile(join(extra, "more.md"), "more");
    const notes = await notesOf(t, { "memory/a.md": "tea", "memory/page.md": "x", "memory/.hidden.md": "h" }, [extra]);
    const { files } = await notes.files();
    assert.deepEqual(
      files.map(({ path, size, writable }) => [path, size, writable]),
      [
        ["memory/a.md", 3, true],
        ["memory/page.md", 1, true],
        [join(extra, "more.md"), 4, false],
      ],
    );
    const note = await notes.read("memory/a.md");
    assert.deepEqual([note.content, note.hash, note.outside], ["tea", contentHash("tea"), false]);
    assert.equal((await notes.read("memory/page.md")).outside, true);
    assert.equal((await notes.read(join(extra, "more.md"))).content, "more");
    await assert.rejects(notes.read("memory/none.md"), { code: "NOT_FOUND" });
  });

  it("are written with the version of their author, never over another change", async (t) => {
    const notes = await notesOf(t, { "memory/a.md": "tea" });
    const { hash } = await notes.write("memory/a.md", "coffee", contentHash("tea"));
    assert.equal(await readFile(join(notes.workspace, "memory/a.md"), "utf8"), "coffee");
    await assert.rejects(notes.write("memory/a.md", "milk", contentHash("tea")), { code: "CONFLICT" });
    await notes.write("memory/a.md", "milk", hash);
    await notes.write("memory/deep/b.md", "new", contentHash(""));
    await assert.rejects(notes.write("memory/deep/b.md", "again", contentHash("")), { code: "CONFLICT" });
    await notes.write("MEMORY.md", "facts");
    assert.deepEqual(notes.changes.at(-1), { paths: ["MEMORY.md"], how: "memory.write" });
  });

  it("are nothing else: no other file, no link, no extra path", async (t) => {
    const extra = await temporaryDirectory(t);
    await writeFile(join(extra, "more.md"), "more");
    const notes = await notesOf(t, { "memory/a.md": "tea" }, [extra]);
    await writeFile(join(notes.workspace, "secret.txt"), "secret");
    await link(join(notes.workspace, "secret.txt"), join(notes.workspace, "memory/link.md"));
    for (const path of ["../x.md", "AGENTS.md", "memory/../x.md", "memory/.x.md", "/etc/passwd", "memory/a.txt"]) {
      await assert.rejects(notes.read(path), { code: "INVALID_REQUEST" }, path);
      await assert.rejects(notes.write(path, "x"), { code: "INVALID_REQUEST" }, path);
    }
    await assert.rejects(notes.read("memory/link.md"), { code: "INVALID_REQUEST" });
    await assert.rejects(notes.write("memory/link.md", "x"), { code: "INVALID_REQUEST" });
    const refusal = { code: "INVALID_REQUEST", message: /is a file of extraPaths/ };
    await assert.rejects(notes.write(join(extra, "more.md"), "x"), refusal);
    assert.equal(await readFile(join(extra, "more.md"), "utf8"), "more");
  });
});
