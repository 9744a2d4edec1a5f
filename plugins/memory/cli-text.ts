/** The output of `svc memory`. Pure. */
import type { ResultOf } from "@svc/sdk";
import { table, time, visible } from "@svc/sdk/cli";
import type { memory } from "@svc/sdk/memory";

type Statuses = ResultOf<typeof memory.status>;
type Syncs = ResultOf<typeof memory.index>;
type Found = ResultOf<typeof memory.search>;

/** Printed for an unknown value. */
const UNKNOWN = "-";
const HEAD = ["AGENT", "FILES", "CHUNKS", "VECTORS", "LAST SYNC"];

export function statusLines({ agents }: Statuses): string[] {
  const rows = agents.map(({ agentId, files, chunks, vectors, pending, lastIndexedAt }) => [
    visible(agentId),
    shown(files),
    shown(chunks),
    pending === undefined || pending === 0 ? shown(vectors) : `${shown(vectors)} (${pending} pending)`,
    lastIndexedAt === undefined ? "never" : time(lastIndexedAt),
  ]);
  return [...table([HEAD, ...rows]), "", ...agents.map(meaningLine), ...sizeLine(agents)];
}

const shown = (count: number | undefined) => (count === undefined ? UNKNOWN : String(count));

function meaningLine({ agentId, provider, model, embedding }: Statuses["agents"][number]): string {
  const server = provider === undefined ? "" : ` (${[provider, model].filter(Boolean).join(", ")})`;
  const state = embedding.ok ? "the embeddings server responds" : (embedding.error ?? "no embeddings server responds");
  return visible(`${agentId}: ${state}${server}`);
}

function sizeLine(agents: Statuses["agents"]): string[] {
  const bytes = agents.find(({ indexBytes }) => indexBytes !== undefined)?.indexBytes;
  return bytes === undefined ? [] : [`The index has ${bytes} bytes.`];
}

export function syncLines({ agents }: Syncs): string[] {
  return agents.flatMap(({ agentId, files, chunks, changed, removed, embedded, pending, leftOut, error }) => {
    const meaning = pending === undefined ? [] : [`${embedded} sent for vectors`, `${pending} pending`];
    const parts = [`${files} files`, `${chunks} chunks`, `${changed} changed`, `${removed} removed`, ...meaning];
    return [
      visible(`${agentId}: ${parts.join(", ")}`),
      ...leftOut.map(({ path, reason }) => visible(`  not searched: ${path}: ${reason}`)),
      ...(error === undefined ? [] : [visible(`  only keyword search so far: ${error}`)]),
    ];
  });
}

export function foundLines({ results, files, leftOut, meaning }: Found): string[] {
  const none = files === 0 ? "There are no memory files yet." : `No match in ${files} memory files.`;
  const places = results.flatMap(({ path, startLine, endLine, score, snippet }) => [
    visible(`${path}:${startLine}-${endLine}  ${score}`),
    ...snippet.split("\n").map((line) => `  ${visible(line)}`.trimEnd()),
    "",
  ]);
  return [
    ...(results.length > 0 ? places : [none]),
    ...leftOut.map(({ path, reason }) => visible(`Not searched: ${path}: ${reason}`)),
    ...(meaning === undefined ? [] : [visible(`Semantic search was skipped or partial: ${meaning}`)]),
  ];
}
