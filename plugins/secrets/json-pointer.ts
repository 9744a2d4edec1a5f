/** JSON pointers (RFC 6901). Pure. */

/** Characters of a pointer. Choice: a longer one is a mistake. */
const MAX_CHARS = 4_096;

/** Whether it is a pointer to something below the root; `~` only stands in `~0` and `~1`. */
export function isPointer(text: string): boolean {
  return text.length <= MAX_CHARS && /^\/(?:[^~]|~[01])*$/su.test(text);
}

/** What a pointer names, own keys and items only, never what a prototype has; `undefined` when there is nothing. */
export function follow(root: unknown, pointer: string): unknown {
  let node = root;
  for (const escaped of pointer.split("/").slice(1)) {
    const key = escaped.replaceAll("~1", "/").replaceAll("~0", "~");
    if (typeof node !== "object" || node === null) return undefined;
    if (Array.isArray(node) && !/^(?:0|[1-9]\d{0,9})$/u.test(key)) return undefined; // `length` is no item
    if (!Object.hasOwn(node, key)) return undefined;
    node = (node as Readonly<Record<string, unknown>>)[key];
  }
  return node;
}
