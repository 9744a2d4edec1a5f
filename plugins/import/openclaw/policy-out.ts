/** The command policy as OpenClaw 2026.3 reads it: it never allows more there than here, or than the source of the import did. Pure. */
import type { ImportItem } from "@svc/kit/import";
import { isRecord, textIn } from "./values.ts";

type Values = Readonly<Record<string, unknown>>;

/** Fields of an entry that restrict nothing. */
const UNRESTRICTED: ReadonlySet<string> = new Set([
  "id",
  "pattern",
  "anyArguments",
  "lastUsedAt",
  "lastUsedCommand",
  "lastResolvedPath",
]);

/**
 * There, an entry is a pattern that allows all arguments. Here, that needs `anyArguments`; so an entry without it is written only if
 * a source has it.
 * @param sources files of the sources, which may have any form
 */
export function policyOut(file: Values, sources: readonly Values[], tell: (item: ImportItem) => void): Values {
  const known = new Set(sources.flatMap((source) => agentsOf(source).flatMap(([id, level]) => patternsOf(id, level))));
  const agents = agentsOf(file).map(([id, level]) => {
    const list = listOf(level).filter(isRecord);
    if (list.length === 0) return [id, level] as const;
    const allowlist = list.flatMap((entry) => {
      const { anyArguments, ...plain } = entry;
      const isPlain = Object.keys(entry).every((key) => UNRESTRICTED.has(key));
      if (isPlain && (anyArguments === true || known.has(nameOf(id, entry)))) return [plain];
      tell({ kind: "command-policy", id: nameOf(id, entry), action: "drop", reason: WIDER, next: NEXT });
      return [];
    });
    return [id, { ...level, allowlist }] as const;
  });
  return { ...file, agents: Object.fromEntries(agents) };
}

const WIDER = "an entry there allows all arguments, and this one allows less";
const NEXT = "if they may be allowed: openclaw approvals allowlist add <pattern>";

const nameOf = (agentId: string, { pattern }: Values) => `${agentId} ${textIn(pattern) ?? ""}`;
const agentsOf = ({ agents }: Values) =>
  Object.entries(isRecord(agents) ? agents : {}).map(([id, level]) => [id, isRecord(level) ? level : {}] as const);

const listOf = ({ allowlist }: Values) => (Array.isArray(allowlist) ? (allowlist as unknown[]) : []);

/** An older form of an entry is its pattern. */
const patternsOf = (agentId: string, level: Values) =>
  listOf(level).map((entry) => nameOf(agentId, isRecord(entry) ? entry : { pattern: entry }));
