/** The tools `memory_search` and `memory_get`. Spec: http/tools-invoke.md §5. */
import { readWithin } from "@svc/kit/files";
import { invalidRequest, notFound, Strict, Type } from "@svc/sdk";
import type { FileOrigins } from "@svc/sdk/files";
import { defineTool, type Tool } from "@svc/sdk/tools";
import { type AgentIndexes, WHERE } from "./agent-indexes.ts";
import type { MemoryAnswer } from "./engine/protocol.ts";
import { linesOf } from "./files/chunks.ts";

/** Choice: most characters returned by one `memory_get`. */
export const MAX_TEXT_CHARS = 50_000;
/** Skipped files listed by name; the others are counted. */
const MAX_NAMED = 5;

/** Finds the origin of notes: who may have written them. */
export type OriginOf = FileOrigins["of"];

export function searchTool(indexes: Pick<AgentIndexes, "search">, originOf: OriginOf): Tool {
  return defineTool({
    label: "Search memory",
    description: `Searches your notes (${WHERE} in your workspace). Use it before you answer questions about earlier work, decisions, dates, people or preferences. Returns the best places with path and lines; read more with memory_get.`,
    scope: "operator.read",
    effects: ["reads"],
    independent: true,
    brings: "none",
    params: Strict({
      query: Type.String({ pattern: "\\S", maxLength: 1_000, description: "Words to search for" }),
      maxResults: Type.Optional(
        Type.Integer({ minimum: 1, maximum: 50, description: "Most places to return; default 6" }),
      ),
      minScore: Type.Optional(
        Type.Number({ minimum: 0, maximum: 1, description: "0 to 1; weaker places are dropped; default 0" }),
      ),
    }),
    async run({ query: text, maxResults, minScore }, { call, signal }) {
      const answer = await indexes.search(call.agentId, { text, maxResults, minScore }, signal);
      const origin = await originOf(call.agentId, [...new Set(answer.hits.map(({ path }) => path))]);
      const content = [{ type: "text" as const, text: answerText(text, answer) }];
      return { content, details: detailsOf(answer), ...(origin ? { origin } : {}) };
    },
  });
}

/** The result of a search, for programs. */
export function detailsOf({ hits: results, files, leftOut, mode, meaning }: MemoryAnswer) {
  return { results: [...results], files, leftOut: [...leftOut], mode, ...(meaning === undefined ? {} : { meaning }) };
}

export function getTool(indexes: Pick<AgentIndexes, "locate">, originOf: OriginOf): Tool {
  return defineTool({
    label: "Read memory",
    description: `Reads one of your memory files (${WHERE}), or some lines of it. Use it after memory_search.`,
    scope: "operator.read",
    effects: ["reads"],
    independent: true,
    brings: "none",
    params: Strict({
      path: Type.String({ pattern: "\\S", maxLength: 1_000, description: "Path as returned by memory_search" }),
      from: Type.Optional(Type.Integer({ minimum: 1, description: "First line; default 1" })),
      lines: Type.Optional(Type.Integer({ minimum: 1, description: "Number of lines; default: all that follow" })),
    }),
    async run({ path, from = 1, lines: count }, { call }) {
      const { root, name } = indexes.locate(call.agentId, path);
      const file = await readWithin(root, name);
      if (!file) notFound(`there is no file ${path}; find files with memory_search`);
      const all = linesOf(file.bytes.toString("utf8"));
      if (from > all.length) invalidRequest(`${path} has ${all.length} lines; there is no line ${from}`);
      const shown = firstOf(all.slice(from - 1, count === undefined ? undefined : from - 1 + count));
      const to = from - 1 + shown.length;
      const text = shown.join("\n").slice(0, MAX_TEXT_CHARS);
      const origin = await originOf(call.agentId, [name]);
      const rest = to < all.length ? `\n[lines ${from} to ${to} of ${all.length}]` : "";
      return {
        content: [{ type: "text", text: text + rest }],
        details: { path, from, to, totalLines: all.length, text },
        ...(origin ? { origin } : {}),
      };
    },
  });
}

/** As many lines as fit, at least one. */
function firstOf(lines: readonly string[]): readonly string[] {
  let chars = 0;
  const over = lines.findIndex((line) => (chars += line.length + 1) > MAX_TEXT_CHARS);
  return over < 0 ? lines : lines.slice(0, Math.max(1, over));
}

function answerText(query: string, { hits, files, leftOut, meaning }: MemoryAnswer): string {
  const found = hits.map(
    ({ path, startLine, endLine, score, snippet }) =>
      `${path} lines ${startLine} to ${endLine}, score ${score}\n${snippet}`,
  );
  const nothing =
    files === 0 ? `There are no memory files yet (${WHERE}).` : `No match for "${query}" in ${files} memory files.`;
  const named = leftOut.slice(0, MAX_NAMED).map(({ path, reason }) => `${path}: ${reason}`);
  const more = leftOut.length > MAX_NAMED ? [`and ${leftOut.length - MAX_NAMED} more`] : [];
  const skipped = leftOut.length === 0 ? [] : [["Not searched:", ...named, ...more].join("\n")];
  const words = meaning === undefined ? [] : [`Semantic search was skipped or partial: ${meaning}`];
  return [...(found.length > 0 ? found : [nothing]), ...skipped, ...words].join("\n\n");
}
