/**
 * Commands that run another program, load code, or read and write where they should not, through a program that looks harmless. Facts about programs: the
 * commands of a program on a line with · between them, words with blanks between them. `/w` is the workspace and the working directory.
 */
const commands = (text: string) =>
  text
    .split(/[\n·]/)
    .map((command) => command.trim())
    .filter((command) => command !== "");

/**
 * Programs that run others, load code, or read and write anywhere in so many ways that they have no profile: whatever their arguments, a path alone never
 * suffices for them. One that gets a profile needs its attacks below.
 */
export const WITHOUT_PROFILE: readonly string[] = `
  7z aa-exec ab agetty alpine ansible-playbook ansible-test aoss apt apt-get aptitude ar arch arj arp as ascii85 ash
  aspell at atobm awk aws base58 basenc basez bash batcat batch bc bconsole bpftrace bridge bundle bundler busctl
  busybox byebug bzip2 cabal capsh cargo cc cdist certbot chattr check_by_ssh check_log chgrp chmod choom chown chroot
  chrt clang clisp cmake cobc composer cowsay cowthink cp cpan cpio cpulimit crash crontab csh csplit csvtool ctags
  cupsfilter curl dash dc dd debugfs deno dialog diff3 distcc dmesg dmsetup dnf doas docker dosbox dotnet dpkg
  dpkg-deb dvips easy_install eb ed efax egrep elixir elvish emacs enscript env eqn erb erl espeak ex exiftool expect
  facter fgrep finger firejail fish flock gawk gcc gcloud gcore gdb gem genie genisoimage ghc ghci gimp ginsh git
  gnuplot go grc groff gtester guile gzip hd highlight hostnamectl iconv iftop info install ionice ip irb ispell java
  jjs joe journalctl jrunscript jshell julia kill knife ksh ksshell ksu kubectl latex latexmk ld-linux-x86-64.so.2
  ld.so ldconfig ldd less lftp linux32 linux64 lldb ln logrotate logsave lp ltrace lua lualatex luatex mail make man
  mawk minicom mkdir mknod mktemp more mosquitto mount msfconsole msgattrib msgfilter mtr multitime mutt mv mysql nano
  nasm nawk nc ncat ncdu neofetch nft nice ninja nm nmap node nohup npm npx nroff nsenter octave-cli openssl openvpn
  openvt opkg pandoc parallel passwd patch pax pdb pdflatex pdftex perf perl perlbug perldoc pexec pg php pic pico
  pidstat pip pip3 pipx pkexec pkg pnpm poetry posh pr printenv prlimit prove pry ps psftp psql ptx puppet python3
  qemu-system-x86_64 rake rc readelf red redcarpet restic rlwrap rm rmdir rpm rpmdb rpmquery rpmverify rsync rtorrent
  ruby rubygems run-mailcap run-parts runscript rustup rview rvim sash scanmem scp screen script scrot sed service
  setarch setfacl setlock sftp sg sh shred shuf slsh socat softlimit split sqlite3 sqlmap ss ssh ssh-agent ssh-copy-id
  ssh-keygen ssh-keyscan sshpass start-stop-daemon stdbuf strace su sudo sudoedit svn sysctl systemctl systemd-resolve
  systemd-run tar task taskset tasksh tbl tclsh tcpdump tcsh tdbtool tee telnet terraform tex tftp time timedatectl
  timeout tmate tmux top torify torsocks touch troff truncate tshark ul unshare unsquashfs unzip update-alternatives
  uudecode uuencode uv uvx valgrind varnishncsa vi view vim vimdiff vipw w3m watch wget whiptail wish xargs xdotool
  xelatex xetex xmllint xonsh xterm xz yarn yash yelp yum zathura zcat zgrep zip zsh zsoelim zypper
`
  .trim()
  .split(/\s+/);

/** They start another program, or load code. */
export const EXECUTIONS: readonly string[] = commands(`
  find . -exec sh -c id ; · find . -execdir id ; · find . -ok id ; · find . -okdir id ; · find . -name a -exec id {} +
  date --file=/etc/shadow
  diff -l a b · diff --paginate a b
  file -z a.gz · file --uncompress a.gz · file -m ./magic a · file --magic-file=./magic a
  grep --pre=id x
  rg --pre ./x y · rg --pre=./x y · rg --hostname-bin ./x y · rg --hostname-bin=./x y · rg -z x · rg --search-zip x
  sort --compress-program=./x -S1 a · sort --compress-program ./x -S1 a
  strings --plugin=./x.so a · strings @args
`);

/** They read, write, delete or send where the agent may not, or change the machine. */
export const READS_AND_WRITES: readonly string[] = commands(`
  base32 /etc/shadow
  base64 /etc/shadow · base64 -o /tmp/x a · base64 -i/etc/shadow
  cat /etc/shadow · cat -- /etc/shadow · cat -n /etc/shadow · cat ../x · cat a/../../x · cat ./../x
  cat a ../../etc/shadow · cat /w/../etc/shadow · cat /proc/self/environ · cat /w2/x
  cksum /etc/shadow · cksum -c list · cksum --check list
  column -t /etc/shadow
  comm /etc/shadow a · comm a /etc/shadow
  cut -d: -f1 /etc/shadow · cut -f1 -d: -- /etc/shadow
  date -f /etc/shadow · date -s 2020-01-01 · date --set=2020-01-01 · date 010100002020 · date -r /etc/shadow
  date --reference=/etc/shadow
  df /root
  diff --line-format=%L /dev/null /etc/shadow · diff a /etc/shadow · diff --from-file=/etc/shadow a
  diff --to-file=/etc/shadow a · diff -X /etc/shadow a b
  du -X /etc/shadow · du --files0-from=list · du /root · du -L .
  expand /etc/shadow
  file -f /etc/shadow · file -f list · file --files-from=list · file -C -m a · file /etc/shadow
  find / -name x · find .. -name x · find . -delete · find . -fprint /tmp/x · find . -fprintf /tmp/x y
  find . -fprint0 /tmp/x · find . -fls /tmp/x · find -files0-from list · find -L . -name x · find . -follow -name x
  find . -newer /etc/shadow · find -f /etc
  fmt -pNON_EXISTING_PREFIX /etc/shadow · fmt /etc/shadow
  fold -w99 /etc/shadow
  grep -r x /etc · grep -f /etc/shadow a · grep -f/etc/shadow a · grep --file=/etc/shadow a
  grep --file /etc/shadow a · grep -rf /etc/shadow a · grep -e x /etc/shadow · grep -ex /etc/shadow
  grep --regexp=x /etc/shadow · grep /etc/shadow -e x · grep x a -f /etc/shadow · grep x -- /etc/shadow · grep -R x .
  grep --dereference-recursive x . · grep --exclude-from=/etc/shadow x a · grep x a -e ../x
  head -c1G /etc/shadow · head -n 5 /etc/shadow · head -5 /etc/shadow
  hexdump -C /etc/shadow · hexdump -f /etc/shadow a · hexdump -e x /etc/shadow
  hostname evil · hostname -F /etc/shadow · hostname --file=/etc/shadow · hostname -b evil
  join -a 2 /dev/null /etc/shadow
  jq -Rr . /etc/shadow · jq -f /etc/shadow a · jq -nf/etc/shadow · jq --from-file /etc/shadow a · jq -L /etc . a
  jq -n env · jq -n $ENV · jq -n $ENV.HOME · jq -n import"/etc/x"as$d;$d · jq -n include"/etc/x";.
  jq -n "x"|modulemeta · jq --slurpfile x /etc/shadow . a · jq --rawfile x /etc/shadow . a
  jq --argfile x /etc/shadow . a · jq . a --rawfile x /etc/shadow
  ls /root · ls -la .. · ls -- /root · ls ~root/../../root
  nl -bn -w1 -s: /etc/shadow
  od -An -c -w9999 /etc/shadow · od -An -c /etc/shadow
  paste /etc/shadow · paste -d: a /etc/shadow
  readlink -f /etc/shadow
  realpath /etc/alternatives/x · realpath --relative-to=/ a · realpath --relative-to / a
  rev /etc/shadow
  rg x /etc · rg -f /etc/shadow a · rg --file=/etc/shadow a · rg -e x /etc/shadow · rg --files /etc
  rg --files -- /etc · rg -L x · rg --follow x · rg --ignore-file /etc/shadow x
  sha256sum -c list · sha256sum --check list · sha256sum /etc/shadow
  sort -o /tmp/x a · sort -o a a · sort -oa a · sort -no a a · sort --output=/tmp/x a · sort a -o b · sort -T /etc a
  sort --temporary-directory=/etc a · sort --files0-from=list · sort --random-source=/etc/shadow -R a
  sort -m /etc/shadow · sort -k1 /etc/shadow
  stat /etc/shadow · stat -c %n /etc/shadow
  strings /etc/shadow · strings -n1 /etc/shadow
  sum /etc/shadow
  tac -s x /etc/shadow
  tail -c1G /etc/shadow · tail -F a · tail --follow=name a · tail --retry a
  tree /etc · tree -o /tmp/x · tree -R -L 1 -H . · tree --fromfile list · tree -l
  unexpand -t99 /etc/shadow
  uniq /etc/shadow · uniq a b · uniq -c a /tmp/x · uniq -- a b
  wc --files0-from=/etc/shadow · wc --files0-from=list · wc /etc/shadow
  xxd /etc/shadow · xxd a b · xxd -r a b · xxd -p -r a b
`);

/** What agents do every day: each passes, with its program on the list by its path alone. */
export const EVERYDAY: readonly string[] = commands(`
  cat a.txt · cat -n src/a.ts src/b.ts · cat /w/src/a.ts · cat ./a.txt · cat -
  head a.txt · head -20 a.txt · head -n 20 a.txt · head -n20 a.txt b.txt · head --lines=20 a.txt · head -c 100 a.txt
  tail -n +5 a.txt · tail -f log/a.log · tail -50 log/a.log
  wc -l a.txt · wc -lwc a.txt b.txt
  grep -rn TODO src · grep -rn TODO src --include=*.ts · grep -n x a.txt · grep -in -A3 -B 3 x a.txt
  grep -E ^(a|b)$ a.txt · grep -e x -e y a.txt · grep -f patterns.txt a.txt · grep -c /api/v1 a.txt
  grep -rl --exclude-dir=node_modules x . · grep --color=never -o x a.txt · grep -5 x a.txt
  rg x · rg -n x src · rg -tjs -g !dist x src · rg --files · rg --files src · rg --json -C 2 x · rg -e x -e y src
  rg -i --hidden --glob *.md x · rg --version
  cut -d, -f1 a.csv · cut -d , -f 1-3 a.csv · cut -d - -f2 a.txt · cut -c1-10 a.txt
  sort a.txt · sort -u a.txt b.txt · sort -t: -k2,2n a.txt · sort -rn -k 3 a.txt
  uniq a.txt · uniq -c a.txt
  tr a-z A-Z · tr -d \\n
  nl -ba a.txt
  tac a.txt
  rev a.txt
  paste -d, a.txt b.txt
  join -t, -1 1 -2 2 a.csv b.csv
  comm -12 a.txt b.txt
  diff a.txt b.txt · diff -u a.txt b.txt · diff -ru src dist · diff -U 5 a.txt b.txt · diff --brief -r a b
  cmp a.bin b.bin · cmp -s a.bin b.bin
  fold -w 80 -s a.txt
  fmt -w 72 a.txt
  expand -t 4 a.txt
  unexpand -a a.txt
  column -t -s, a.csv
  md5sum a.bin
  sha256sum a.bin b.bin
  sha512sum -b a.bin
  b2sum a.bin
  cksum a.bin
  sum a.bin
  base64 a.bin · base64 -d a.b64 · base64 -w 0 a.bin
  od -A x -t x1 a.bin
  hexdump -C a.bin · hexdump -C -n 64 a.bin
  xxd a.bin · xxd -l 64 -s 16 a.bin
  strings -n 8 a.bin
  jq . a.json · jq -r .name package.json · jq -c .items[]|select(.id>3) a.json · jq -n --arg x y {a:$x}
  jq --slurpfile x b.json .+$x[0] a.json
  ls · ls -la · ls -la src · ls -lhS --color=never src dist · ls -R src · ls /w · ls --help
  tree -L 2 · tree -a -L 3 src
  find . · find . -name *.ts · find src -type f -name *.ts -not -path */node_modules/* · find . -maxdepth 2 -type d
  find . -mtime -1 -size +10k · find src ( -name a -o -name b ) -print · find . -newer a.txt -print0
  find . -perm -644
  stat a.txt · stat -c %s a.txt
  file a.bin · file -b --mime-type a.bin
  du -sh . · du -sh src · du -h -d 1 · du -ah --max-depth=1 src
  df -h · df -h .
  realpath a.txt · realpath --relative-to=src a.txt
  readlink -f a.txt
  basename /etc/x.txt .txt · basename -s .ts a.ts
  dirname /etc/x.txt
  which node · which -a node npm
  pwd
  test -f a.txt · test a = b
  [ -d src ]
  echo hello · echo -n /etc/passwd
  printf %s\\n x
  expr 1 + 2
  true
  false
  seq 10 · seq -w 1 2 10
  sleep 0.1
  date · date +%F · date -u +%Y-%m-%dT%H:%M:%SZ · date -d 2\u00a0days\u00a0ago +%F · date -Iseconds
  cal · cal 2026
  whoami
  id · id -un
  groups
  uname -a
  hostname · hostname -f
  uptime · uptime -p
  free -h
  nproc
`);
