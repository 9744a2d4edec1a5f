/** A workspace with memory files, and an index of it. */
import { mkdir, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { TestContext } from "node:test";
import type { MemoryQuery } from "../../../plugins/memory/memory-index.ts";
import { createWordIndex, type WordIndexOptions } from "../../../plugins/memory/word-index.ts";
import { temporaryDirectory } from "../agents/temporary.ts";

export const never = new AbortController().signal;

export async function scene(t: TestContext, files: Readonly<Record<string, string>> = {}, options?: WordIndexOptions) {
  const workspace = await temporaryDirectory(t);
  const write = async (path: string, text: string) => {
    await mkdir(dirname(join(workspace, path)), { recursive: true });
    await writeFile(join(workspace, path), text);
  };
  for (const [path, text] of Object.entries(files)) await write(path, text);
  const index = createWordIndex(workspace, options);
  const ask = (text: string, changes: Partial<MemoryQuery> = {}, signal = never) =>
    index.search({ text, maxResults: 6, minScore: 0, ...changes }, signal);
  /** `path:start-end` of what is found. */
  const places = async (text: string, changes: Partial<MemoryQuery> = {}) =>
    (await ask(text, changes)).hits.map(({ path, startLine, endLine }) => `${path}:${startLine}-${endLine}`);
  return { workspace, write, remove: (path: string) => rm(join(workspace, path)), ask, places };
}
