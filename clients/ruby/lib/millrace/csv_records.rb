# frozen_string_literal: true

module Millrace
  # Records of CSV, cut where the service's own reader cuts them (RFC 4180). A record that breaks the rules of quotes
  # ends with its first line.
  #
  # Lines are read ahead up to the limit of a record. What a line does within quotes depends on that line alone, so it
  # is looked at once: a stray quote costs no time.
  class CSVRecords
    # The most bytes of a record of several lines, as the service reads it.
    MAX_RECORD = 64 * 1024
    MARK = "\xEF\xBB\xBF".b.freeze

    # The block returns the next line with its end, and nil after the last.
    def initialize(&next_line)
      @next_line = next_line
      @ahead = []
      @first = true
      forget
    end

    def each
      while fetch(0)
        line = @ahead.shift
        pass(line)
        text = content(line)
        text = text.delete_prefix(MARK) if @first
        @first = false
        line = several(line) if ends(text, false) == :open
        yield line
      end
    end

    private

    # The first @inside lines ahead, of @size bytes, leave an open quote open. @after is what the next one does.
    def forget
      @inside = @size = 0
      @after = nil
    end

    def pass(line)
      return forget if @inside.zero?

      @inside -= 1
      @size -= line.bytesize
    end

    # The record whose first line leaves a quote open: with the lines behind it, or that line alone.
    def several(line)
      while line.bytesize + @size <= MAX_RECORD
        following = fetch(@inside)
        @after ||= following ? ends(content(following), true) : :stray
        return whole(line, following) if @after == :record
        return line if @after == :stray

        @inside += 1
        @size += following.bytesize
        @after = nil
      end
      line
    end

    def whole(line, last)
      return line if line.bytesize + @size + content(last).bytesize > MAX_RECORD

      record = [line, *@ahead.shift(@inside + 1)].join
      forget
      record
    end

    # The line at this place ahead; nil at the end.
    def fetch(place)
      while @ahead.size <= place
        line = @next_line.call
        return if line.nil?

        @ahead << line
      end
      @ahead[place]
    end

    def content(line)
      line.delete_suffix("\n").delete_suffix("\r")
    end

    # How a line leaves its quotes. A quote opens only at the start of a field. :record means that the record ends with
    # the line, :open that a quote is open at its end, :stray that text follows a closing quote.
    def ends(text, quoted)
      at = quoted ? 0 : behind_opening_quote(text, 0)
      while at
        quote = text.index('"', at)
        return :open if quote.nil?

        case text.getbyte(quote + 1)
        when nil then return :record
        when 34 then at = quote + 2
        when 44 then at = behind_opening_quote(text, quote + 2)
        else return :stray
        end
      end
      :record
    end

    # The place behind the next quote that opens a field; nil without one. A field starts at `start`.
    def behind_opening_quote(text, start)
      return start + 1 if text.getbyte(start) == 34

      comma = text.index(',"', start)
      comma && (comma + 2)
    end
  end

  private_constant :CSVRecords
end
