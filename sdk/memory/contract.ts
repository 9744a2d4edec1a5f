/**
 * Memory: notes written by agents, and their indexes. Spec: protocol/methods-memory.md; choice: all methods except
 * `doctor.memory.status`.
 */
import { BaseHash } from "../base-hash.ts";
import { defineContract } from "../contract.ts";
import { Strict, Type } from "../schema.ts";

const AgentId = Type.Optional(Type.String({ minLength: 1, maxLength: 100, description: "default: see the method" }));
const count = (description: string) => Type.Optional(Type.Integer({ minimum: 0, description }));

/** Whether the embeddings server responds. */
const Embedding = Type.Object({ ok: Type.Boolean(), error: Type.Optional(Type.String()) });

/** Index statistics; absent: no index yet, or it cannot be read. */
const figures = {
  files: count("searchable files"),
  chunks: count("chunks they were split into"),
  vectors: count("chunks with a stored embedding"),
  pending: count("chunks waiting for an embedding"),
  indexBytes: count("size in bytes of the file that holds the indexes of all agents"),
  lastIndexedAt: Type.Optional(Type.Integer({ description: "epoch ms of the last check for changed files" })),
};

/** Memory of one agent and the state of its index. */
export const MemoryStatus = Type.Object({
  agentId: Type.String(),
  provider: Type.Optional(
    Type.String({
      description: "kind of embeddings server; absent: none is configured, or it could not be determined",
    }),
  ),
  model: Type.Optional(Type.String()),
  embedding: Embedding,
  ...figures,
});

/** Outcome of updating one index. */
export const MemorySync = Type.Object({
  agentId: Type.String(),
  files: Type.Integer({ description: "searchable files" }),
  chunks: Type.Integer(),
  changed: Type.Integer({ description: "files indexed again" }),
  removed: Type.Integer({ description: "deleted files" }),
  embedded: Type.Integer({ description: "chunks sent to the embeddings server" }),
  pending: count("chunks waiting for an embedding; absent: no server is configured"),
  leftOut: Type.Array(Type.Object({ path: Type.String(), reason: Type.String() })),
  error: Type.Optional(Type.String({ description: "why chunks are waiting" })),
});

/** A matching passage. */
export const MemoryPlace = Type.Object({
  path: Type.String({ description: "relative to the workspace; absolute for files of `extraPaths`" }),
  startLine: Type.Integer({ description: "from 1; the range includes both lines" }),
  endLine: Type.Integer(),
  score: Type.Number({ description: "0 to 1; comparable within one search only" }),
  snippet: Type.String({ description: "best matching part of these lines" }),
});

/** Result of a search. */
export const MemoryFound = Type.Object({
  agentId: Type.String(),
  results: Type.Array(MemoryPlace),
  files: Type.Integer({ description: "searched files" }),
  leftOut: Type.Array(Type.Object({ path: Type.String(), reason: Type.String() })),
  mode: Type.Enum(["keyword", "hybrid", "vector"], { description: "by keyword, by both, by embedding" }),
  meaning: Type.Optional(Type.String({ description: "why semantic search was partial or unavailable" })),
});

const NotePath = Type.String({
  minLength: 1,
  maxLength: 1_000,
  description: "relative to the workspace; absolute for files of `extraPaths`",
});

/** A memory file, without its text. */
export const MemoryNote = Type.Object({
  path: NotePath,
  size: Type.Integer({ description: "bytes" }),
  updatedAtMs: Type.Integer({ description: "epoch ms" }),
  writable: Type.Boolean({ description: "false: a file of `extraPaths`, which memory.write refuses" }),
});

/** Memory indexes of the agents. */
export const memory = defineContract("memory", {
  doctor: {
    name: "doctor.memory.status",
    summary: "Check whether keyword and semantic search of the default agent's memory work",
    scope: "operator.read",
    params: Type.Object({}),
    result: MemoryStatus,
  },
  status: {
    summary: "Get the memory state of one agent or of all agents",
    scope: "operator.read",
    advertised: false,
    params: Strict({ agentId: AgentId }),
    result: Type.Object({ agents: Type.Array(MemoryStatus) }),
  },
  search: {
    summary: "Search the memory of an agent; default: the default agent",
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
  files: {
    summary: "List the memory files of an agent; default: the default agent",
    scope: "operator.read",
    advertised: false,
    params: Strict({ agentId: AgentId }),
    result: Type.Object({
      agentId: Type.String(),
      workspace: Type.String(),
      files: Type.Array(MemoryNote, { description: "by path, at most 2,000" }),
      leftOut: Type.Array(Type.Object({ path: Type.String(), reason: Type.String() })),
    }),
  },
  read: {
    summary: "Read a memory file of an agent; default: the default agent",
    scope: "operator.read",
    advertised: false,
    params: Strict({ agentId: AgentId, path: NotePath }),
    result: Type.Object({
      agentId: Type.String(),
      ...MemoryNote.properties,
      content: Type.String({ description: "at most 1 MiB" }),
      hash: Type.String({ description: "SHA-256 of the content, hex" }),
      outside: Type.Boolean({ description: "a run that had read external content may have written it" }),
    }),
  },
  write: {
    summary: "Write a memory file in the workspace of an agent; default: the default agent",
    scope: "operator.admin",
    advertised: false,
    params: Strict({
      agentId: AgentId,
      path: NotePath,
      content: Type.String(),
      baseHash: BaseHash,
    }),
    result: Type.Object({
      ok: Type.Literal(true),
      agentId: Type.String(),
      ...MemoryNote.properties,
      hash: Type.String({ description: "SHA-256 of the content, hex" }),
    }),
  },
  index: {
    summary: "Update the index of one agent or of all agents; `force` rebuilds it",
    scope: "operator.admin",
    advertised: false,
    params: Strict({ agentId: AgentId, force: Type.Optional(Type.Boolean()) }),
    result: Type.Object({ agents: Type.Array(MemorySync) }),
  },
});
