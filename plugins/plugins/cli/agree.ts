/** Asks a person to agree to the permissions a plugin requests. */
import { askYes, type CommandContext, visible } from "@svc/sdk/cli";
import type { Agreeing, AgreementRequest } from "../install/installer.ts";

export interface AgreeFlags {
  /** Agrees to everything. */
  readonly yes?: boolean;
  /** Agrees to the permissions shown with this word. */
  readonly agree?: string;
}

/** Asks, or answers by the flags. Without a terminal and without a flag, the answer is no. */
export function agreeBy({ yes, agree: word }: AgreeFlags, output: Pick<CommandContext, "json" | "note">): Agreeing {
  const agree: Agreeing["agree"] = async (request) => {
    if (yes) {
      if (!output.json) output.note(describeRequest(request));
      return true;
    }
    if (word !== undefined) return word === request.agree;
    return canAsk(output) && askPerson(describeRequest(request));
  };
  return { agree, word };
}

/** Whether a person can be asked: input and output are terminals. */
export function canAsk({ json }: Pick<CommandContext, "json">): boolean {
  return !json && process.stdin.isTTY && process.stderr.isTTY;
}

/** Asks on standard error, so that standard output stays clean. */
export function askPerson(text: string): Promise<boolean> {
  return askYes(`${text}\nAgree?`, { input: process.stdin, output: process.stderr });
}

/** Pure. */
export function describeRequest(request: Omit<AgreementRequest, "agree">): string {
  const { name, version, id, summary, isUpdate } = request;
  const what = isUpdate ? "requests additional permissions. It" : `(plugin ${id})`;
  return [`${visible(name)} ${visible(version)} ${what}`, ...summary.map((line) => `  - ${line}`)].join("\n");
}
