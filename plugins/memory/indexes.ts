/** The index of each agent, made when it is first asked for. */
import type { MemoryIndex } from "./memory-index.ts";
import { createWordIndex } from "./word-index.ts";

/** Choice: agents whose index is kept; the one that was not asked for longest is built anew when it is needed again. */
export const MAX_KEPT = 16;

export interface Indexes {
  of(agentId: string, workspace: string): MemoryIndex;
}

export function createIndexes(create: (workspace: string) => MemoryIndex = createWordIndex): Indexes {
  const kept = new Map<string, { readonly workspace: string; readonly index: MemoryIndex }>();
  return {
    of(agentId, workspace) {
      const before = kept.get(agentId);
      const entry = before?.workspace === workspace ? before : { workspace, index: create(workspace) };
      kept.delete(agentId);
      kept.set(agentId, entry);
      const [oldest] = kept.keys();
      if (kept.size > MAX_KEPT && oldest !== undefined) kept.delete(oldest);
      return entry.index;
    },
  };
}
