/** Which addresses and names are public, in every spelling. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { hostRules, publicAddress } from "@svc/kit/net";
import { targetOf } from "../../../plugins/outbound/target.ts";
import { refused } from "./scene.ts";

describe("addresses", () => {
  /** What they are, and the addresses, separated by blanks. */
  const inside: [what: string, addresses: string][] = [
    ["this network", "0.0.0.0 0.1.2.3"],
    ["private networks", "10.0.0.1 10.255.255.255 172.16.0.1 172.31.255.255 192.168.1.1"],
    ["carriers' networks", "100.64.0.1 100.127.255.255 100.100.100.200"],
    ["loopback", "127.0.0.1 127.255.255.254"],
    ["metadata of machines", "169.254.169.254 168.63.129.16"],
    ["reserved IPv4", "192.0.0.8 192.0.0.192 192.88.99.1 198.18.0.1 198.19.255.255 240.0.0.1 255.255.255.255"],
    ["IPv4 of documentation", "192.0.2.1 198.51.100.7 203.0.113.9"],
    ["IPv4 multicast", "224.0.0.1 239.255.255.255"],
    ["IPv4 in another spelling", "0177.0.0.1 0x7f.0.0.1 127.1 2130706433 8.8.8.08 0x08080808 8.8.8.8."],
    ["IPv6 of this machine and network", ":: ::1 fe80::1 febf::1 fec0::1 feff::1 fc00::1 fd00:ec2::254 ff02::1"],
    ["reserved IPv6", "100::1 2001:db8::1 3fff::1 5f00::1 4000::1 2001:2::1 2001:10::1 2001:20::1 1::1"],
    ["IPv6 with a zone or brackets", "fe80::1%eth0 2606:4700::1111%1 [2606:4700::1111]"],
    ["mapped private addresses", "::ffff:10.0.0.1 ::ffff:127.0.0.1 ::ffff:a9fe:a9fe"],
    ["compatible and translated addresses", "::127.0.0.1 ::8.8.8.8 ::ffff:0:127.0.0.1"],
    ["NAT64 of private addresses", "64:ff9b::127.0.0.1 64:ff9b::10.0.0.1 64:ff9b::a9fe:a9fe"],
    ["local NAT64", "64:ff9b:1::8.8.8.8 64:ff9b:1:a00:0:100::"],
    ["6to4", "2002:7f00:1:: 2002:808:808::1"],
    ["Teredo", "2001::1 2001:0:a00:1:: 2001:0:4136:e378:8000:63bf:3fff:fdd2"],
    ["ISATAP of private addresses", "2606:4700::5efe:10.0.0.1 2606:4700::200:5efe:192.168.0.1"],
    ["ISATAP with either flag", "2606:4700::100:5efe:127.0.0.1 2606:4700::300:5efe:127.0.0.1"],
    ["no addresses", "1:2:3 :::1 ::g localhost 12345::1"],
  ];
  for (const [what, addresses] of inside)
    it(`takes ${what} for no public addresses`, () => {
      for (const address of addresses.split(" ")) assert.equal(publicAddress(address), undefined, address);
    });

  it("takes blanks for no public address", () => {
    for (const text of ["", " 8.8.8.8"]) assert.equal(publicAddress(text), undefined);
  });

  it("connects to public addresses in canonical spelling", () => {
    const asWritten = "8.8.8.8 1.1.1.1 9.255.255.255 11.0.0.0 100.63.255.255 172.32.0.1 223.255.255.255";
    for (const address of asWritten.split(" ")) assert.equal(publicAddress(address), address);
    const others: [string, string][] = [
      ["2606:4700:4700::1111", "2606:4700:4700::1111"],
      ["2001:4860:4860:0:0:0:0:8888", "2001:4860:4860::8888"],
      ["::ffff:8.8.8.8", "8.8.8.8"],
      ["64:ff9b::8.8.8.8", "64:ff9b::808:808"],
      ["2606:4700::5efe:8.8.8.8", "2606:4700::5efe:808:808"],
    ];
    for (const [address, used] of others) assert.equal(publicAddress(address), used);
  });
});

describe("URLs", () => {
  /** Kinds of hosts, and the hosts, separated by blanks. */
  const inside: [what: string, hosts: string][] = [
    ["loopback", "127.0.0.1 127.0.0.1. 127.0.0.1:80 127.1/ 127.0.1 0 0x0/"],
    ["octal and hexadecimal loopback", "0177.0.0.1 0x7f.0.0.1 0x7f000001 0X7F.1 017700000001"],
    ["loopback in other characters", "①②⑦.⓪.⓪.① １２７.０.０.１ 127。0。0。1 %31%32%37.0.0.1"],
    ["metadata", "169.254.169.254/latest/meta-data 0xa9fea9fe 2852039166 0251.0376.0251.0376"],
    ["private networks", "10.0.0.1 012.1.2.3 192.168.257 3232235777 2130706433"],
    ["reserved IPv4", "100.64.0.1 198.18.0.1 255.255.255.255"],
    ["IPv6 of this machine and network", "[::1] [::] [0:0:0:0:0:0:0:1] [fe80::1] [fec0::1] [fd00::1]"],
    ["mapped and compatible addresses", "[::ffff:127.0.0.1] [::ffff:7f00:1] [::127.0.0.1]"],
    ["NAT64", "[64:ff9b::7f00:1] [64:ff9b:1::7f00:1]"],
    ["tunnels", "[2002:7f00:1::] [2001:0:7f00:1::] [2606:4700::5efe:7f00:1]"],
    ["IPv6 multicast", "[ff02::1]"],
    ["localhost", "localhost LOCALHOST:3000 localhost. localhost.. a.localhost localhost.localdomain"],
    ["localhost in other characters", "ⓛocalhost ｌｏｃａｌｈｏｓｔ loc\u00adalhost %6cocalhost"],
    ["names of networks", "printer.local printer.local. x。local local x.internal internal"],
    ["names of metadata", "metadata.google.internal METADATA.GOOGLE.INTERNAL./"],
  ];
  const invalid: [what: string, hosts: string][] = [
    ["credentials", "user@example.com user:pass@example.com :pass@example.com"],
    ["ports that do not exist", "example.com:0 example.com:65536"],
    ["empty parts of a host", ".example.com a..b ..."],
    ["broken IPv6", "[fe80::1%25eth0] [::1 [1:2:3] ::1"],
    ["broken IPv4", "1.2.3.4.5 256.1.1.1 0x100000000 127.0.0.1%00"],
    ["public IPv4 in another spelling", "0x08080808 134744072 8.8.2056 8.8.8.8. 010.8.8.8 ８.8.8.8 8.8.8.010"],
  ];
  const refusals = [
    ...inside.map(([what, hosts]) => ({ what, hosts, code: "ADDRESS_NOT_PUBLIC" })),
    ...invalid.map(([what, hosts]) => ({ what, hosts, code: "URL_INVALID" })),
  ];
  for (const { what, hosts, code } of refusals)
    it(`refuses ${what} with ${code}`, () => {
      for (const host of hosts.split(" ")) assert.throws(() => targetOf(`http://${host}`, []), refused(code), host);
    });

  it("refuses addresses inside in unusual forms", () => {
    const urls = [
      "http:127.0.0.1",
      "http:\\\\127.0.0.1",
      "https://127.0.0.1:8443/x",
      "http://127.0.0.1\t",
      "http://12\n7.0.0.1",
    ];
    for (const url of urls) assert.throws(() => targetOf(url, []), refused("ADDRESS_NOT_PUBLIC"), url);
  });

  it("refuses other protocols and what is no URL", () => {
    const protocols = [
      "ftp://example.com",
      "file:///etc/passwd",
      "data:text/html,x",
      "javascript:alert(1)",
      "gopher://example.com",
      "ws://example.com",
    ];
    const noUrls = ["", "example.com", "/x", "http://", "http:///", "http://exa mple.com", "http://1.1.1.1 &@8.8.8.8"];
    const short = ["http:8.8.8.8", "http:\\\\8.8.8.8"];
    for (const url of [...protocols, ...noUrls, ...short])
      assert.throws(() => targetOf(url, []), refused("URL_INVALID"), url);
  });

  const taken: [url: string, canonical: string, address: string | undefined][] = [
    ["https://example.com/a?b#c", "https://example.com/a?b#c", undefined],
    ["HTTP://EXAMPLE.com.:8080", "http://example.com:8080/", undefined],
    ["http://bücher.example", "http://xn--bcher-kva.example/", undefined],
    ["http://localhost.example.com", "http://localhost.example.com/", undefined],
    ["http://notlocal", "http://notlocal/", undefined],
    ["http://8.8.8.8:53/x", "http://8.8.8.8:53/x", "8.8.8.8"],
    ["  https://8.8.8.8?x ", "https://8.8.8.8/?x", "8.8.8.8"],
    ["https://[2606:4700::1111]", "https://[2606:4700::1111]/", "2606:4700::1111"],
    ["https://[::ffff:8.8.8.8]/", "https://[::ffff:808:808]/", "8.8.8.8"],
  ];
  for (const [url, canonical, address] of taken)
    it(`takes ${url}`, () => {
      const target = targetOf(url, []);
      assert.deepEqual([target.url.href, target.address], [canonical, address]);
    });
});

describe("allowHosts", () => {
  const rows: [entry: string, allowed: string, refused: string][] = [
    [
      "example.com",
      "https://example.com",
      "https://www.example.com https://notexample.com https://example.com.evil.test",
    ],
    [" EXAMPLE.com. ", "https://Example.COM./", ""],
    ["*.example.com", "https://www.example.com https://a.b.example.com", "https://example.com https://evilexample.com"],
    ["bücher.example", "https://xn--bcher-kva.example", ""],
    ["exa mple.com", "", "https://example.com"],
    ["*.*", "", "https://example.com"],
    ["w*.example.com", "", "https://www.example.com"],
    ["user@example.com", "", "https://example.com"],
    ["*.8.8.8", "", "https://8.8.8.8"],
    ["8.8.8.8", "https://8.8.8.8", ""],
    ["2606:4700::1111", "https://[2606:4700:0::1111]", ""],
    ["https://example.com", "http://example.com/any", ""],
    ["https://example.com/docs", "https://example.com/docs https://example.com/docs/a", "https://example.com/docs-old"],
    ["https://example.com/docs/", "", "https://example.com/docs"],
    ["https://example.com/docs", "", "https://example.com/docs/../x https://example.com/docs/%2e%2e/x"],
    ["https://example.com/docs", "", "https://example.com/docs/..%2fx https://example.com/docs/..%252Fx"],
    ["https://example.com/docs", "", "https://example.com/docs/..\\..\\x"],
    ["https://*.example.com/docs", "https://a.example.com/docs/1", ""],
    ["example.com:8443", "https://example.com:8443", "https://example.com"],
    ["example.com:80", "http://example.com", "https://example.com"],
    ["example.com:443", "https://example.com", ""],
  ];
  const urlsOf = (text: string) => text.split(" ").filter((url) => url !== "");
  for (const [entry, allowed, others] of rows)
    it(`${JSON.stringify(entry)} allows [${allowed}], not [${others}]`, () => {
      const rules = hostRules([entry]);
      for (const url of urlsOf(allowed)) assert.ok(targetOf(url, rules));
      for (const url of urlsOf(others)) assert.throws(() => targetOf(url, rules), refused("HOST_NOT_ALLOWED"), url);
    });

  it("without an entry that names a host allows every host", () => {
    for (const entries of [[], ["", "  ", "*", " *. "]]) assert.ok(targetOf("https://example.com", hostRules(entries)));
    const rules = hostRules(["*", "example.com"]);
    assert.throws(() => targetOf("https://other.test", rules), refused("HOST_NOT_ALLOWED"));
  });

  it("opens nothing inside", () => {
    for (const host of ["127.0.0.1", "localhost", "metadata.google.internal"])
      assert.throws(() => targetOf(`http://${host}`, hostRules([host])), refused("ADDRESS_NOT_PUBLIC"));
  });

  it("is asked before the address", () => {
    assert.throws(() => targetOf("http://127.0.0.1", hostRules(["example.com"])), refused("HOST_NOT_ALLOWED"));
  });
});
