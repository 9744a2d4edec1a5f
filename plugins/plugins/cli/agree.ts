/** Asks a person whether a plugin may have what it asks for. */
import { askYes, type CommandContext, visible } from "@svc/sdk/cli";
import type { Agreeing, AgreementRequest } from "../install/installer.ts";

export interface AgreeFlags {
  /** To all of it. */
  readonly yes?: boolean;
  /** To what was shown with this word. */
  readonly agree?: string;
}

/** Where nobody can be asked and no flag says yes, it is no. */
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

/** Somebody reads and types here. */
export function canAsk({ json }: Pick<CommandContext, "json">): boolean {
  return !json && process.stdin.isTTY && process.stderr.isTTY;
}

/** On standard error: what is printed stays clean. */
export function askPerson(text: string): Promise<boolean> {
  return askYes(`${text}\nAgree?`, { input: process.stdin, output: process.stderr });
}

/** Pure. */
export function describeRequest(request: Omit<AgreementRequest, "agree">): string {
  const { name, version, id, summary, isUpdate } = request;
  const what = isUpdate ? "asks for more than before. It" : `(plugin ${id})`;
  return [`${visible(name)} ${visible(version)} ${what}`, ...summary.map((line) => `  - ${line}`)].join("\n");
}
