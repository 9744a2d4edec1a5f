/**
 * Which paths may be used in the transforms directory. Pure: only inspects the text of the path. Spec: http/webhooks.md
 * §7.
 */
import { isAbsolute, relative, resolve } from "node:path";
import { isInside } from "./inside.ts";

// oxlint-disable-next-line no-control-regex -- it matches control characters
const CONTROL = /[\u0000-\u001f\u007f]/;

/**
 * Why a path is not allowed in the transforms directory.
 * @param root set for `hooks.transformsDir`, which may be absolute if it stays inside; otherwise the path must be
 * relative
 * @returns the problem and what to write instead; `undefined`: none
 */
export function transformPathProblem(path: string, root?: string): string | undefined {
  if (path.trim() === "") return "is blank; write a path relative to the transforms directory";
  if (CONTROL.test(path)) return "contains a control character; rename the file";
  if (path.split(/[/\\]/).includes("..")) return "contains `..`; it must stay inside the transforms directory";
  if (root !== undefined && isAbsolute(path)) {
    if (!isInside(resolve(root), resolve(path))) return `must be inside ${root}`;
    return segmentProblem(relative(root, path));
  }
  if (path.startsWith("/") || isAbsolute(path)) return "is absolute; write it relative to the transforms directory";
  return segmentProblem(path);
}

function segmentProblem(path: string): string | undefined {
  if (path.startsWith("~"))
    return "starts with `~`, which is not expanded here; write it relative to the transforms directory";
  if (path.includes(":")) return "contains `:`; write a plain path relative to the transforms directory";
  if (path.includes("\\")) return "contains a backslash; write `/` between names";
  return undefined;
}
