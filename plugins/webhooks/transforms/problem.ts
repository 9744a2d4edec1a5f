/** Describes a problem in a file of the transforms directory, with its position. */
import { cut } from "@svc/sdk/cli";
import { TransformFault } from "@svc/sdk/webhooks";
import { SUFFIX } from "./copy.ts";

/** Longest text of a thrown or returned value. */
const MAX_TEXT = 500;

/** A problem in a file that its author can fix; the message begins with the file. */
export class ModuleProblem extends TransformFault {}

/** @param line from 1 */
export function moduleProblem(path: string, message: string, line?: number, column?: number): ModuleProblem {
  const place = [path, line, column].filter((part) => part !== undefined).join(":");
  return new ModuleProblem(`${place}: ${message}`);
}

export function cutText(text: string, most: number = MAX_TEXT): string {
  return cut(text, most, `… (${text.length} characters)`);
}

/** A thrown value in one line, with the innermost place below a copy: `TypeError: x is not a function (build.ts:3:9)`. */
export function describeThrown(thrown: unknown, directory: string): string {
  const place = thrown instanceof TransformFault ? undefined : placeOf(thrown, directory);
  const text = cutText(textOf(thrown));
  return place === undefined ? text : `${text} (${place})`;
}

/** Accepts any thrown value, even one that throws when it is read. */
function textOf(thrown: unknown): string {
  if (thrown instanceof TransformFault) return thrown.message;
  try {
    return thrown instanceof Error ? `${thrown.name}: ${thrown.message}` : `threw ${String(thrown)}`;
  } catch {
    return "threw something that cannot be shown";
  }
}

/**
 * `build.mjs:3:9`, from the first stack line inside the copy in `directory`. TypeScript gets no column: the column of the
 * compiled file would mislead the author, while the lines are the same.
 */
export function placeOf(thrown: unknown, directory: string): string | undefined {
  try {
    const stack = thrown instanceof Error ? String(thrown.stack) : "";
    const prefix = directory.endsWith("/") ? directory : `${directory}/`;
    for (const line of stack.split("\n")) {
      const at = line.indexOf(prefix);
      const place = at < 0 ? undefined : /^.+?:\d+(?::\d+)?/.exec(line.slice(at + prefix.length))?.[0];
      if (place !== undefined) return place.replace(`${SUFFIX}:`, ":").replace(/(\.[cm]?tsx?:\d+):\d+$/, "$1");
    }
  } catch {
    // an unreadable stack has no position
  }
  return undefined;
}
