/** Schema pattern of an `http(s)` address without credentials, query and fragment: it may appear in errors. */
export const ADDRESS_PATTERN = String.raw`^https?://[^\s/?#@]+(/[^\s?#@]*)?$`;

/** Whether the text is such an address. */
export function isAddress(text: string): boolean {
  return new RegExp(ADDRESS_PATTERN).test(text);
}

/** Without slashes at the end. */
export function trimmedAddress(address: string): string {
  return address.replace(/\/+$/, "");
}
