/** Resolves references to items of stored responses. */
import type { Item } from "./items.ts";
import { itemsOf } from "./items.ts";
import type { ResponseStore } from "./store.ts";

type Unloaded = Exclude<Item, { kind: "reference" }>;

/** `msg_<uuid>` and `fc_<uuid>_<n>`, with the uuid of their response. */
const ITEM_ID = /^(?:msg|fc)_([0-9a-f-]{36})(?:_\d+)?$/;

/**
 * Replaces references by the stored items. References to unknown items (or items of another principal) are dropped.
 * Spec: http/responses.md §3 ignores all references.
 */
export async function resolveReferences(
  items: readonly Item[],
  store: Pick<ResponseStore, "find">,
  principal: string,
): Promise<readonly Unloaded[]> {
  const found = await Promise.all(
    items.map(async (item): Promise<readonly Item[]> => {
      if (item.kind !== "reference") return [item];
      const uuid = ITEM_ID.exec(item.id)?.[1];
      const kept = uuid === undefined ? undefined : await store.find(`resp_${uuid}`, principal);
      const output = kept?.body["output"];
      const named: unknown[] = Array.isArray(output) ? output.filter(({ id }: { id?: unknown }) => id === item.id) : [];
      return itemsOf(named);
    }),
  );
  return found.flat().filter((item) => item.kind !== "reference");
}
