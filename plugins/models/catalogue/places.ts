/** Finds values in plain data by a path pattern. Pure. */

type Found = readonly (readonly [path: string, value: unknown])[];

/** Values at `pattern` with their paths; `list[]` stands for each item of a list. Absent values are left out. */
export function valuesAt(root: unknown, pattern: string): Found {
  return pattern.split(".").reduce<Found>(
    (found, step) => {
      const key = step.replace(/\[\]$/, "");
      return found.flatMap(([path, value]): Found => {
        const at = path ? `${path}.${key}` : key;
        const child = (Object(value) as Readonly<Record<string, unknown>>)[key]; // `Object` accepts any value
        if (child === undefined) return [];
        if (key === step) return [[at, child]];
        return Array.isArray(child) ? child.map((item: unknown, index) => [`${at}[${index}]`, item] as const) : [];
      });
    },
    [["", root]],
  );
}
