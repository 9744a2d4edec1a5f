/** What lies in a state directory and does not come along: named, with what it costs and what helps. */
import type { CopiedFile, ImportItem } from "@svc/kit/import";
import { join } from "node:path";
import type { StateFiles } from "./state-files.ts";

/** Directories that are copied, by name; the place here is the same. */
const COPIED = ["hooks/transforms", "skills"] as const;
/** Modules that import the other product cannot run here. */
const IMPORTS_IT = /["']openclaw(?:\/[^"']*)?["']/;

export async function copiedFiles(
  { directory, names }: StateFiles,
  workspaces: readonly { readonly from: string; readonly to: string }[],
): Promise<CopiedFile[]> {
  const copied: CopiedFile[] = [];
  for (const name of COPIED) {
    const parent = name.includes("/") ? name.slice(0, name.lastIndexOf("/")) : "";
    if ((await names(parent, "directory")).includes(name.slice(parent === "" ? 0 : parent.length + 1)))
      copied.push({ from: join(directory, name), to: name });
  }
  for (const { from, to } of workspaces) copied.push({ from, to, without: [".openclaw"] });
  return copied;
}

/** One item for each thing that stays. */
export async function leftBehind(files: StateFiles): Promise<ImportItem[]> {
  const { names, text } = files;
  const drop = (kind: string, id: string, reason: string, next?: string): ImportItem => ({
    kind,
    id,
    action: "drop",
    reason,
    ...(next === undefined ? {} : { next }),
  });
  const items: ImportItem[] = [];
  for (const name of await names("credentials", "directory"))
    items.push(
      drop(
        "login",
        name,
        "its key belongs to one linked device, which one program may use",
        `svc channels login --channel ${name}`,
      ),
    );
  for (const name of [...(await names("extensions", "directory")), ...(await names("npm/projects", "directory"))])
    items.push(
      drop("plugin", name, "a plugin of another program cannot be loaded", "svc plugins list shows what is here"),
    );
  for (const name of await names("hooks", "directory"))
    if (name !== "transforms")
      items.push(drop("hook", name, "its handler is made for another program", "write it as a plugin: sdk/README.md"));
  for (const name of await names("hooks/transforms", "file")) {
    const isForeign = IMPORTS_IT.test((await text(`hooks/transforms/${name}`)) ?? "");
    if (isForeign)
      items.push({
        kind: "file",
        id: `hooks/transforms/${name}`,
        action: "keep",
        reason: "it imports a module of OpenClaw, which is not here",
        next: "remove that import, then: svc hooks check",
        added: 0,
      });
  }
  return items;
}
