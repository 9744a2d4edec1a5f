/** Caches values derived from the section owners. */
import type { SectionOwner } from "./schema.ts";

/** @returns `make`, with its last result cached while the owners and their schemas are the same */
export function perOwners<T>(make: (owners: readonly SectionOwner[]) => T): (owners: readonly SectionOwner[]) => T {
  let last: { readonly owners: readonly SectionOwner[]; readonly value: T } | undefined;
  return (owners) => {
    const known = last?.owners;
    const isSame =
      known?.length === owners.length &&
      owners.every(({ section, plugin, schema }, at) => {
        const before = known[at];
        return section === before?.section && plugin === before.plugin && schema === before.schema;
      });
    if (!last || !isSame) last = { owners, value: make(owners) };
    return last.value;
  };
}
