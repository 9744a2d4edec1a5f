/** JSON pointers (RFC 6901). Pure. */

/** Maximum length of a pointer in characters. Choice: a longer one is a mistake. */
const MAX_CHARS = 4_096;

/** Whether the text is a pointer to a value below the root; `~` is valid only in `~0` and `~1`. */
export function isPointer(text: string): boolean {
  return text.length <= MAX_CHARS && /^\/(?:[^~]|~[01])*$/su.test(text);
}

/** The value at a pointer, following own keys and items only, never a prototype; `undefined` when there is none. */
export function follow(root: unknown, pointer: string): unknown {
  let node = root;
  for (const escaped of pointer.split("/").slice(1)) {
    const key = escaped.replaceAll("~1", "/").replaceAll("~0", "~");
    if (typeof node !== "object" || node === null) return undefined;
    if (Array.isArray(node) && !/^(?:0|[1-9]\d{0,9})$/u.test(key)) return undefined; // `length` is not an item
    if (!Object.hasOwn(node, key)) return undefined;
    node = (node as Readonly<Record<string, unknown>>)[key];
  }
  return node;
}
