/** A desk whose index is in this thread, and its agents. */
import { join } from "node:path";
import type { TestContext } from "node:test";
import type { MemorySearch } from "@svc/sdk/memory";
import type { Secrets } from "@svc/sdk/secrets";
import { createDesk, type DeskParts } from "../../../plugins/memory/desk.ts";
import { createEmbed } from "../../../plugins/memory/embeddings-api.ts";
import { createEngine, type Engine } from "../../../plugins/memory/engine.ts";
import type { Kind, Questions } from "../../../plugins/memory/messages.ts";
import type { Thread } from "../../../plugins/memory/thread.ts";
import { temporaryDirectory } from "../agents/temporary.ts";
import { never } from "./scene.ts";

/** Asks an index of this thread. */
export function threadOf(engine: Engine): Pick<Thread, "ask"> {
  const answers: { [K in Kind]: (asked: Questions[K]["asked"], signal: AbortSignal) => unknown } = {
    search: ({ place, query }, signal) => engine.search(place, query, signal),
    sync: ({ place, force }, signal) => engine.sync(place, force, signal),
    figures: ({ place }) => engine.figures(place),
    probe: ({ endpoint }, signal) => engine.probe(endpoint, signal),
    keep: ({ agentIds }) => engine.keep(agentIds),
  };
  return {
    ask: async <K extends Kind>(kind: K, asked: Questions[K]["asked"], signal = never) =>
      (await answers[kind](asked, signal)) as Questions[K]["answer"], // of the same kind
  };
}

export interface DeskOptions extends Partial<DeskParts> {
  /** Settings by agent; the first is the default one. */
  readonly agents?: () => ReturnType<DeskParts["agents"]>;
  readonly settings?: Readonly<Record<string, MemorySearch>>;
  readonly reveal?: Secrets["reveal"];
}

export async function deskOf(t: TestContext, workspaces: Readonly<Record<string, string>>, options: DeskOptions = {}) {
  const { settings = {}, reveal } = options;
  const file = join(await temporaryDirectory(t), "index.sqlite");
  const engine = createEngine({ file, note: () => {}, embed: createEmbed() });
  t.after(() => engine.close());
  const warned: unknown[] = [];
  const [defaultId = "main"] = Object.keys(workspaces);
  const list = () =>
    Object.entries(workspaces).map(([id, workspace]) => ({ id, workspace, isDefault: id === defaultId }));
  const desk = createDesk({
    agents: () => ({ list, defaultId, memorySearch: (id) => settings[id] ?? {} }),
    secrets: () => (reveal ? { reveal } : undefined),
    thread: threadOf(engine),
    file: () => file,
    log: { warn: (fields) => warned.push(fields) },
    ...options,
  });
  return { desk, engine, file, warned };
}
