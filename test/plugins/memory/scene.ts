/** A workspace with memory files, and an index of it in a separate file. */
import { mkdir, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { TestContext } from "node:test";
import type { Embed } from "../../../plugins/memory/embedding/embeddings-api.ts";
import { createEngine, type EngineOptions } from "../../../plugins/memory/engine/engine.ts";
import type { AgentMemory } from "../../../plugins/memory/index/agent-memory.ts";
import type { MemoryQuery } from "../../../plugins/memory/search/ranking.ts";
import { settingsOf } from "../../../plugins/memory/settings.ts";
import { temporaryDirectory } from "../agents/temporary.ts";

export const never = new AbortController().signal;

/** The default settings. */
export const { hybrid: HYBRID, chunking: CHUNKING } = settingsOf({});

export const query = (text: string, changes: Partial<MemoryQuery> = {}): MemoryQuery => ({
  text,
  maxResults: 6,
  minScore: 0,
  hybrid: HYBRID,
  refresh: true,
  ...changes,
});

export const memoryOf = (workspace: string, changes: Partial<AgentMemory> = {}): AgentMemory => ({
  agentId: "main",
  workspace,
  extraPaths: [],
  chunking: CHUNKING,
  useExtension: true,
  maxCached: 1_000,
  ...changes,
});

/** Fails on a request, since no server is configured. */
const noServer: Embed = () => Promise.reject(new Error("a server was asked"));

export interface SceneOptions extends Partial<EngineOptions> {
  readonly memory?: Partial<AgentMemory>;
}

export async function scene(
  t: TestContext,
  files: Readonly<Record<string, string>> = {},
  { memory: changes, ...options }: SceneOptions = {},
) {
  const workspace = await temporaryDirectory(t);
  const file = join(await temporaryDirectory(t), "index.sqlite");
  const write = async (path: string, text: string) => {
    await mkdir(dirname(join(workspace, path)), { recursive: true });
    await writeFile(join(workspace, path), text);
  };
  for (const [path, text] of Object.entries(files)) await write(path, text);
  const notes: string[] = [];
  const open = (isFresh = false) => {
    const engine = createEngine({ file, isFresh, note: (message) => notes.push(message), embed: noServer, ...options });
    t.after(() => engine.close());
    return engine;
  };
  const engine = open();
  const memory = memoryOf(workspace, changes);
  const ask = (text: string, asked: Partial<MemoryQuery> = {}, signal = never) =>
    engine.search(memory, query(text, asked), signal);
  /** `path:start-end` of the hits. */
  const places = async (text: string, asked: Partial<MemoryQuery> = {}) =>
    (await ask(text, asked)).hits.map(({ path, startLine, endLine }) => `${path}:${startLine}-${endLine}`);
  const remove = (path: string) => rm(join(workspace, path));
  return { workspace, file, memory, engine, open, notes, write, remove, ask, places };
}
