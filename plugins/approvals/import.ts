/** Takes the command policy of another gateway, and gives that of this one. Imported on first use. */
import type { ExecPolicyStore } from "@svc/kit/exec";
import { messageOf, Turns } from "@svc/sdk";
import { type CommandPolicyRecord, type Importer, importerOf, type ImportOutcome } from "@svc/sdk/import";
import { hasRules, importedPolicy } from "./imported-policy.ts";

/** Choice: differences that an outcome names. */
const MOST_NAMED = 20;
/** Choice: id of the one record that is given. */
const ID = "exec-approvals";
const SHOW = "svc approvals get";

type Outcome = Omit<ImportOutcome, "id">;

/** Unit of the count: files with a rule, 0 or 1. A file that cannot be used denies all commands, and counts. */
export function policyImporter(
  facts: { readonly title: string; readonly record: typeof CommandPolicyRecord },
  policy: Pick<ExecPolicyStore, "find" | "get" | "set">,
): Importer {
  const turns = new Turns();

  async function stored() {
    const found = await policy.find();
    return found && hasRules(found.file) ? found.file : undefined;
  }

  /** Why the policy of this gateway stays; `undefined`: it has none. */
  const whyKept = () =>
    stored().then((file) => (file ? "this gateway has a command policy already" : undefined), messageOf);

  async function takeOne({ file: given }: CommandPolicyRecord): Promise<Outcome> {
    const kept = await whyKept();
    if (kept !== undefined) return { action: "skip", reason: kept, next: SHOW };
    const { file, changes } = importedPolicy(given);
    if (!hasRules(file))
      return {
        action: "drop",
        reason: listed(["it has no rules, so commands are denied", ...changes]),
        next: "svc approvals security allowlist --ask on-miss",
      };
    const { hash } = await policy.get();
    await policy.set(file, hash);
    return changes.length === 0 ? { action: "take" } : { action: "convert", reason: listed(changes), next: SHOW };
  }

  return importerOf(facts, {
    takeOne: (record) => turns.take("file", () => takeOne(record)),
    count: async () => ((await whyKept()) === undefined ? 0 : 1),
    async give() {
      const file = await stored();
      if (!file) return { records: [] };
      const { socket: _socket, ...rest } = file;
      return { records: [{ id: ID, file: rest }] };
    },
  });
}

function listed(changes: readonly string[]): string {
  const more = changes.length - MOST_NAMED;
  return [...changes.slice(0, MOST_NAMED), ...(more > 0 ? [`and ${more} more`] : [])].join("; ");
}
