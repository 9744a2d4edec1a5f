/** Values in plain data by the pattern of their path. Pure. */

type Found = readonly (readonly [path: string, value: unknown])[];

/** What stands at `pattern`, with its path; `list[]` stands for each item of a list. Absent values are left out. */
export function valuesAt(root: unknown, pattern: string): Found {
  return pattern.split(".").reduce<Found>(
    (found, step) => {
      const key = step.replace(/\[\]$/, "");
      return found.flatMap(([path, value]): Found => {
        const at = path ? `${path}.${key}` : key;
        const child = (Object(value) as Readonly<Record<string, unknown>>)[key]; // any value may be looked into
        if (child === undefined) return [];
        if (key === step) return [[at, child]];
        return Array.isArray(child) ? child.map((item: unknown, index) => [`${at}[${index}]`, item] as const) : [];
      });
    },
    [["", root]],
  );
}
