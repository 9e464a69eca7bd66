-- The load for wrk: BENCH_REQUESTS names a folder with `parts` (the body, cut at the number) and `lines` (number, delivery
-- id, signature), BENCH_HEADERS the other headers. Each request is sent once; after the last they begin again.
local folder = os.getenv('BENCH_REQUESTS')
local path = os.getenv('BENCH_PATH')
local parts, lines, at = {}, {}, 0
local text = io.open(folder .. '/parts'):read('*a')
for part in (text .. '\1'):gmatch('(.-)\1') do parts[#parts + 1] = part end
for line in io.lines(folder .. '/lines') do
  local number, delivery, signature = line:match('^(%S+) (%S+) (%S+)$')
  lines[#lines + 1] = { number, delivery, signature }
end
local headers = {
  ['content-type'] = 'application/json',
  ['user-agent'] = 'GitHub-Hookshot/headgate',
  ['x-github-hook-id'] = '1',
  ['x-github-event'] = os.getenv('BENCH_EVENT'),
}
function request()
  at = at % #lines + 1
  local line = lines[at]
  headers['x-github-delivery'] = line[2]
  headers['x-hub-signature-256'] = line[3]
  return wrk.format('POST', path, headers, table.concat(parts, line[1]))
end
function done(summary)
  io.write(string.format('{"requests":%d,"seconds":%f,"failed":%d}\n', summary.requests, summary.duration / 1e6,
    summary.errors.status + summary.errors.connect + summary.errors.read + summary.errors.timeout))
end
