/** Output of programs for a terminal: nothing in it is obeyed. Pure. */
import { visible } from "@svc/sdk/cli";

/** As `visible`; line feeds, tabs, and carriage returns before line feeds stay. */
export function visibleLines(text: string): string {
  const line = (one: string) => one.split("\t").map(visible).join("\t");
  return text.split(/\r?\n/).map(line).join("\n");
}
