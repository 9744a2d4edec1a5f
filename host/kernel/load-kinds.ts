/** The kinds of declaration of a gateway: the built-in ones, and further ones from modules. */
import type { AnyKind } from "./kind.ts";
import { KINDS } from "./kinds/index.ts";
import { importModule } from "./load.ts";

/**
 * @param files absolute paths of modules whose default export is a kind. @param cacheDir private directory for compiled TypeScript
 * @throws Error a module cannot be imported, or exports no kind
 */
export async function loadKinds(files: readonly string[], cacheDir: string): Promise<readonly AnyKind[]> {
  const further = files.map(async (file) => {
    const { default: kind } = (await importModule(file, cacheDir)) as { default?: Partial<AnyKind> };
    if (typeof kind?.name !== "string" || typeof kind.describe !== "function")
      throw new Error(`${file} exports no kind of declaration; write: export default defineKind({ ... })`);
    return kind as AnyKind;
  });
  return [...KINDS, ...(await Promise.all(further))];
}
