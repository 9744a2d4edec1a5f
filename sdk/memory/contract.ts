/** What agents wrote down, for people and programs. Spec: protocol/methods-memory.md; choice: all but `doctor.memory.status`. */
import { defineContract } from "../contract.ts";
import { Strict, Type } from "../schema.ts";

const AgentId = Type.Optional(Type.String({ minLength: 1, maxLength: 100, description: "default: see the method" }));
const count = (description: string) => Type.Optional(Type.Integer({ minimum: 0, description }));

/** Whether the server that tells what texts mean answers. */
const Embedding = Type.Object({ ok: Type.Boolean(), error: Type.Optional(Type.String()) });

/** Figures of an index; absent: there is none yet, or it cannot be read. */
const figures = {
  files: count("files that can be searched"),
  chunks: count("places they were cut into"),
  vectors: count("places of which it is known what they mean"),
  pending: count("places that wait to be asked about"),
  indexBytes: count("bytes of the file with the indexes of all agents"),
  lastIndexedAt: Type.Optional(Type.Integer({ description: "epoch ms of the last look for changed files" })),
};

/** The memory of one agent and how it can be searched. */
export const MemoryStatus = Type.Object({
  agentId: Type.String(),
  provider: Type.Optional(
    Type.String({ description: "kind of embeddings server; absent: none is set up, or it could not be asked" }),
  ),
  model: Type.Optional(Type.String()),
  embedding: Embedding,
  ...figures,
});

/** What bringing one index up to date came to. */
export const MemorySync = Type.Object({
  agentId: Type.String(),
  files: Type.Integer({ description: "files that can be searched" }),
  chunks: Type.Integer(),
  changed: Type.Integer({ description: "files that were read anew" }),
  removed: Type.Integer({ description: "files that are gone" }),
  embedded: Type.Integer({ description: "places the server was asked about" }),
  pending: count("places that wait to be asked about; absent: no server is set up"),
  leftOut: Type.Array(Type.Object({ path: Type.String(), reason: Type.String() })),
  error: Type.Optional(Type.String({ description: "why places wait" })),
});

/** A place that fits. */
export const MemoryPlace = Type.Object({
  path: Type.String({ description: "below the workspace; absolute for one of `extraPaths`" }),
  startLine: Type.Integer({ description: "from 1; both lines belong to it" }),
  endLine: Type.Integer(),
  score: Type.Number({ description: "0 to 1; compares the places of one search" }),
  snippet: Type.String({ description: "the part of these lines that fits best" }),
});

/** What a search found. */
export const MemoryFound = Type.Object({
  agentId: Type.String(),
  results: Type.Array(MemoryPlace),
  files: Type.Integer({ description: "files that were searched" }),
  leftOut: Type.Array(Type.Object({ path: Type.String(), reason: Type.String() })),
  mode: Type.Enum(["keyword", "hybrid", "vector"], { description: "by words, by words and meaning, by meaning" }),
  meaning: Type.Optional(Type.String({ description: "why meaning was searched in part or not at all" })),
});

/** The indexes of agents' memories. */
export const memory = defineContract("memory", {
  doctor: {
    name: "doctor.memory.status",
    summary: "Whether the default agent's memory can be searched, and by meaning",
    scope: "operator.read",
    params: Type.Object({}),
    result: MemoryStatus,
  },
  status: {
    summary: "The same for one agent, or for all",
    scope: "operator.read",
    advertised: false,
    params: Strict({ agentId: AgentId }),
    result: Type.Object({ agents: Type.Array(MemoryStatus) }),
  },
  search: {
    summary: "Search the memory of an agent; without one, that of the default agent",
    scope: "operator.read",
    advertised: false,
    params: Strict({
      query: Type.String({ pattern: "\\S", maxLength: 1_000 }),
      agentId: AgentId,
      maxResults: Type.Optional(Type.Integer({ minimum: 1, maximum: 50 })),
      minScore: Type.Optional(Type.Number({ minimum: 0, maximum: 1 })),
    }),
    result: MemoryFound,
  },
  index: {
    summary: "Bring the index of one agent up to date, or those of all; `force` builds it anew",
    scope: "operator.admin",
    advertised: false,
    params: Strict({ agentId: AgentId, force: Type.Optional(Type.Boolean()) }),
    result: Type.Object({ agents: Type.Array(MemorySync) }),
  },
});
